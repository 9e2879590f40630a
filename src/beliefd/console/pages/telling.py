"""Events in words: what a line of a timeline says, and where it leads."""

from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from beliefd.console.rendering import headline
from beliefd.protocol.approvals import decided_on
from beliefd.protocol.headlines import REPEATED

NAMED: Final = 6
WORDS: Final = (
    "type",
    "outcome",
    "tool_id",
    "template",
    "source_id",
    "hypothesis",
    "obligation_id",
    "conclusion_id",
    "claim_id",
    "statement",
    "to_status",
    "quantity",
    "mode",
    "memory_id",
    "value",
    "method",
    "upstream",
    "space",
    "name",
    "agent_id",
    "principal",
    "session_id",
    "reason",
    "experiment_id",
    "token_id",
    "source",
)
"""Members of a payload, or of what it led to, that say what it is about."""


class Told(Struct, frozen=True):
    """An event as it is listed: `event` is all of it."""

    event: dict[str, Any]
    words: str
    outcome: str
    links: list[tuple[str, str]]


def told(session_id: str, event: dict[str, Any]) -> Told:
    payload, delta = _object(event.get("payload")), _object(event.get("delta"))
    return Told(event, headline(_words(payload, delta)), _outcome(delta), _links(session_id, payload, delta))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _words(payload: dict[str, Any], delta: dict[str, Any]) -> str:
    if gone := delta.get("eliminated"):
        more = f" and {len(gone) - NAMED} more" if len(gone) > NAMED else ""
        return f"{', '.join(map(str, gone[:NAMED]))}{more} gone, by {payload.get('source_id', 'a merge')}"
    claims = _object(payload.get("bundle")).get("claims") or payload.get("claims") or ()
    if claims and isinstance(claims[0], dict):
        return str(claims[0].get("statement", ""))
    candidates = payload.get("candidates") or ()
    if candidates and isinstance(candidates[0], dict):
        return ", ".join(str(one.get("tool_id", "a change of state")) for one in candidates[:NAMED])
    call = _object(delta.get("call"))
    if "tool_id" in call:
        return str(call["tool_id"])
    if "decision" in payload:
        told = (payload["decision"], decided_on(delta) or _about({}, delta), payload.get("reason"))
        return " ".join(str(one) for one in told if one)
    return _about(payload, delta)


def _about(payload: dict[str, Any], delta: dict[str, Any]) -> str:
    """The members of the first object that has any: what was said, what is in that, what came of it."""
    inner = [*payload.values(), *(delta.get("intents") or ()), *delta.values()]
    for part in (payload, *map(_object, inner)):
        parts = (part, _object(part.get("change")))
        told = [one[name] for name in WORDS for one in parts if isinstance(one.get(name), str) and one[name]]
        if told:
            tested = _object(delta.get("evidence")).get("claim_id")
            return " ".join([*told, *([] if tested in (None, *told) else [f"of {tested}"])])
    return str(delta.get("message") or payload.get("kind") or "")


def _outcome(delta: dict[str, Any]) -> str:
    """What came of it, in a word that stands in the event."""
    gated = _object(_object(delta.get("gated")).get("bundle"))
    if "decision" in gated:
        return str(gated["decision"])
    results = delta.get("results") or [delta.get("result")]
    if isinstance(results[0], dict) and "reason_code" in results[0]:
        return ", ".join(_came_to(one) for one in results[:NAMED])
    if delta.get("kind") == "refused":
        return f"refused: {delta.get('code', '')}"
    if isinstance(delta.get("approved"), bool):
        return "granted" if delta["approved"] else "not granted"
    return str(_object(delta.get("call")).get("status", ""))


def _came_to(result: dict[str, Any]) -> str:
    code = str(result.get("reason_code", ""))
    return REPEATED if code == "REPEATED" else code


def _links(session_id: str, payload: dict[str, Any], delta: dict[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    opened = [delta.get("gated"), delta, *(delta.get("results") or ())]
    items = [_object(_object(one).get("approval")).get("approval_id") for one in opened]
    items = list(dict.fromkeys([payload.get("approval_id"), *items]))
    found += [("item", f"/inbox/{quote(one, safe='')}") for one in items if isinstance(one, str)]
    claim_id = payload.get("claim_id")
    if isinstance(claim_id, str) and delta.get("kind") != "refused":
        found.append(("proposition", f"/propositions/{quote(claim_id, safe='')}"))
    gone = delta.get("eliminated") or ()
    found += [
        (f"why {headline(one)}", f"/sessions/{quote(session_id, safe='')}/why/{quote(str(one), safe='')}")
        for one in gone[:NAMED]
    ]
    return found
