"""How `beliefd audit verify` checks ledgers: one that is stored, a file, what a checkpoint covers, or all."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from beliefd.cli import output
from beliefd.cli.checkpoints import cosigned, covered, kept_checkpoint, proof_in, proven, size_in, trust_in
from beliefd.cli.files import read_bytes
from beliefd.cli.ledgers import PAGE, sessions_of, verify_stored
from beliefd.cli.output import Reply, console
from beliefd.cli.progress import progress
from beliefd.cli.target import Target
from beliefd.kernel.errors import BeliefdError, Code, invalid

if TYPE_CHECKING:
    from beliefd.client.synchronous import Calls
    from beliefd.ledger.transfer import Exported
    from beliefd.protocol.ledger import Verified


def verify_one(target: Target, session_id: str) -> "Verified":
    if target.is_embedded:
        with target.embedded() as embedded:
            return verify_stored(embedded, session_id)
    return target.ask(lambda calls: calls.verify(session_id))


def verify_file(path: str, data: bytes) -> "tuple[Verified, Exported | None]":
    """INVARIANT: the file is read once. Whatever is said of it is said of the very bytes that verify."""
    from beliefd.cli.auditing import lines_in
    from beliefd.ledger.transfer import BadExport, read_export
    from beliefd.ledger.verify import verify as verify_entries
    from beliefd.protocol.ledger import FirstBad, Verified
    from beliefd.steward.handlers.ledger import verified

    try:
        exported = read_export(lines_in(data))
    except BadExport as error:
        if error.line == 1:
            raise invalid(f"`{path}`: {error}") from None
        # The header was fine, so this is a ledger, and one that has been damaged.
        bad = FirstBad(seq=error.line - 1, event_id=None, reason=f"it cannot be read: {error.message}")
        return Verified(ok=False, checked=0, first_bad=bad, head=None), None
    header = exported.header
    with progress("verifying", len(exported.entries)) as report:
        result, _ = verify_entries(
            exported.entries, header.session_id, header.policies, header.head, report, header.contents
        )
    return verified(result), exported


def words_of_head(
    target: Target, answer: "Verified", session_id: str | None, exported: "Exported | None", expected: str
) -> str:
    from beliefd.cli.auditing import entries_of, refuse_other_head
    from beliefd.cli.feed import entries

    found = entries(target, str(session_id)) if exported is None else iter(entries_of(exported))
    return refuse_other_head(answer, expected, found)


def verify_covered(
    target: Target,
    path: str | None,
    session_id: str | None,
    checkpoint: str,
    proof: str | None,
    keys: tuple[str, ...],
    witnesses: tuple[str, ...],
) -> bool:
    from beliefd.cli.views.ledger import covering

    trust = trust_in(keys, witnesses)
    note = read_bytes(checkpoint)
    if path is None:
        data, anchored = _asked_for(target, str(session_id), size_in(checkpoint, note))
    else:
        data, anchored = read_bytes(path), None
    answer, exported = verify_file(path or str(session_id), data)
    told = {**msgspec.to_builtins(answer), "covering": None}
    if answer.ok and exported is not None:
        kept = kept_checkpoint(checkpoint, trust, note)
        told["covering"] = {
            **covered(exported, kept, exported.header.proof if proof is None else proof_in(proof)),
            "cosigned": cosigned(note, trust),
            **({} if anchored is None else {"anchored": anchored}),
        }
    output.show(Reply(told, covering(answer, told["covering"])), target.as_json)
    return answer.ok


def _asked_for(target: Target, session_id: str, size: int) -> tuple[bytes, list[dict[str, Any]]]:
    """A ledger with the proof for a checkpoint, and how much of it is covered by what has reached anchors."""
    with target.calls() as calls:
        data = proven(calls.export(session_id), calls.audit_proof(session_id, size=size))
        found = []
        for one in calls.log_state().anchors:
            try:
                seq = calls.audit_proof(session_id, size=one.size).seq if one.size else 0
            except BeliefdError as error:
                if error.code is not Code.NOT_COVERED:
                    raise
                seq = 0
            found.append({"place": one.place, "size": one.size or 0, "covered": seq})
    return data, found


def verify_all(target: Target) -> bool:
    from rich.text import Text

    from beliefd.cli.views.ledger import verified

    checked: dict[str, Verified] = {}
    for session_id, answer in _verify_each(target):
        checked[session_id] = answer
        if not target.as_json:
            console().print(Text.assemble((f"{session_id}  ", "dim"), verified(answer)), soft_wrap=True)
    ok = all(answer.ok for answer in checked.values())
    counted = f"{len(checked)} ledgers checked"
    output.show(Reply({"ok": ok, "sessions": checked}, counted), target.as_json)
    return ok


def _verify_each(target: Target) -> Iterator[tuple[str, "Verified"]]:
    if target.is_embedded:
        with target.embedded() as embedded:
            for row in sessions_of(embedded):
                yield row.session_id, verify_stored(embedded, row.session_id)
        return
    with target.calls() as calls:
        cursor: str | None = None
        while True:
            page = calls.list_sessions(cursor=cursor, limit=PAGE)
            listed = [item.session_id for item in page.sessions] + [one.session_id for one in page.broken]
            for session_id in sorted(listed):  # ids are ordered by time
                yield session_id, calls.verify(session_id)
            if (cursor := page.next) is None:
                break
        yield from _verify_own(calls)


def _verify_own(calls: "Calls") -> Iterator[tuple[str, "Verified"]]:
    """The server's own ledger, which stands in no list: people without the right to read it have none."""
    from beliefd.kernel.system.state import SYSTEM

    try:
        yield SYSTEM, calls.verify(SYSTEM)
    except BeliefdError as error:
        if error.code not in (Code.SESSION_NOT_FOUND, Code.FORBIDDEN):
            raise
        output.complain("the server's own ledger was left out: it takes the token of an admin")
