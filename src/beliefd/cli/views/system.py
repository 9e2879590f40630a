"""The server's own ledger, and ledgers from elsewhere, drawn for people."""

from typing import Any

from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, first_names
from beliefd.kernel.transfers.state import Foreign


def foreign_lines(foreign: Foreign | None) -> list[Text]:
    """Where something came from that was written elsewhere."""
    if foreign is None:
        return []
    told = f"foreign up to event {foreign.head.seq}: {_brought(foreign.by, foreign.source)}"
    return [Text(told, "bold yellow")]


def _brought(by: str, source: str) -> str:
    return f"imported by {visible(by)}" + (f" from {visible(source)}" if source else "")


def _token(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    token = delta["token"]["token"]
    owner = f", of {visible(token['owner'])}" if "owner" in token else ""
    return Text(f"{token['token_id']} for {visible(token['name'])}: {token['role']}, {token['tier']}{owner}")


def _imported(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    foreign = delta["foreign"]
    brought = _brought(foreign["by"], foreign["source"])
    told = f"{visible(delta['session_id'])}, {foreign['head']['seq']} events, {brought}"
    return Text.assemble(told, (f"  file {foreign['file_sha256']}", "dim"))


def _ledger_received(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    brought = _brought(delta["foreign"]["by"], delta["foreign"]["source"])
    return Text(f"{brought}; what was said before is no authority here", "bold yellow")


def _by(said: dict[str, Any]) -> Text:
    reason = f": {visible(said['reason'])}" if said["reason"] else ""
    return Text(f"by {visible(said['by'])}{reason}")


def _restored(delta: dict[str, Any]) -> str:
    if "at" in delta:
        return f"sessions as of {delta['at']}, {delta['left_out']} later events left out"
    told = f"this ledger had {delta['seen']['seq']} events, and {delta['found']} were found"
    if "signed" not in delta:
        return told
    return f"{told}; {delta['signed']} leaves of the log were signed, and {delta['leaves']} were found"


def _put_away(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    told = f"{visible(delta['session_id'])}, {delta['head']['seq']} events, to {visible(delta['place'])}"
    return Text.assemble(told, (f"  file {delta['file_sha256']}", "dim"))


EVENTS: dict[str, EventWords] = {
    "token_made": _token,
    "token_revoked": _token,
    "tokens_adopted": lambda _, delta: Text(
        f"{len(delta['tokens'])} older than this ledger: "
        + first_names([one["token"]["name"] for one in delta["tokens"]])
    ),
    "policy_adopted": lambda _, delta: Text(f"{delta['policy_hash']} ({delta['source']})"),
    "space_made": lambda _, delta: Text(visible(delta["space"])),
    "ledger_imported": _imported,
    "key_changed": lambda _, delta: Text(
        f"{visible(delta['name'])}, fingerprint {delta['fingerprint'][:16]}"
    ),
    "store_restored": lambda _, delta: Text(_restored(delta), "bold yellow"),
    "ledger_archived": _put_away,
    "ledger_unarchived": lambda _, delta: Text(
        f"{visible(delta['session_id'])}, {delta['head']['seq']} events, from {visible(delta['place'])}"
    ),
    "refusal_noted": lambda _, delta: Text(
        f"{visible(delta['by'])} tried {delta['tried']} in sealed {visible(delta['session_id'])}"
    ),
    "ledger_received": _ledger_received,
    "session_sealed": lambda _, delta: _by(delta["seal"]),
    "session_unsealed": lambda _, delta: _by(delta),
}
