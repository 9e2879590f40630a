"""`beliefd audit`: read, verify, replay, export and import ledgers."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import argument, option

from beliefd.cli import output
from beliefd.cli.files import read_bytes, write_bytes
from beliefd.cli.ledgers import PAGE, Progress, progress, sessions_of, verify_stored
from beliefd.cli.options import FILE, FILE_PATH, IN_SPACE, NOTES, SESSION
from beliefd.cli.output import Exit, Reply, console, print_json
from beliefd.cli.target import Question, Target, asks, target_options
from beliefd.kernel.errors import BeliefdError, Code, invalid

if TYPE_CHECKING:
    from beliefd.ledger.transfer import Exported
    from beliefd.protocol.ledger import Verified

audit = click.Group("audit", help="Read, verify, replay, export, import and merge ledgers.")


@audit.command()
@SESSION
@option("--since", metavar="EVENT", help="Only what came after this event.")
@option("--follow", is_flag=True, help="Keep printing what is recorded, until Ctrl-C.")
@target_options
def show(target: Target, session_id: str, since: str | None, follow: bool) -> None:
    """Print the ledger as a timeline; with --json, one event per line when following."""
    from beliefd.cli.feed import follow_entries, show_entries

    if follow:
        follow_entries(target, session_id, since)
    elif target.as_json:
        print_json(target.ask(lambda calls: calls.audit_trace(session_id, since_event_id=since)))
    else:
        show_entries(target, session_id, since)


@audit.command()
@argument("session_id", metavar="[SESSION]", required=False)
@option("--file", "path", metavar="FILE", help="An exported ledger; no server or store is needed.")
@option("--all", "every", is_flag=True, help="Every session that there is.")
@target_options
def verify(target: Target, session_id: str | None, path: str | None, every: bool) -> None:
    """Recompute every hash, link and decision, and name the first event that does not hold."""
    if [session_id is not None, path is not None, every].count(True) != 1:
        raise click.UsageError("give one of SESSION, `--file` or `--all`")
    if every:
        ok = _verify_all(target)
    else:
        answer = _verify_file(path) if path is not None else _verify_one(target, str(session_id))
        output.show(answer, target.as_json)
        ok = answer.ok
    sys.exit(Exit.ALLOWED if ok else Exit.LEDGER_BROKEN)


@audit.command()
@SESSION
@option("-o", "--output", "place", type=FILE_PATH, help="Default: stdout.")
@target_options
def export(target: Target, session_id: str, place: Path | None) -> None:
    """Write the ledger as JSON Lines, ready for any verifier."""
    data = target.ask(lambda calls: calls.export(session_id))
    if place is None:
        sys.stdout.buffer.write(data)
        return
    write_bytes(place, data)
    events = len(data.splitlines()) - 1
    answer = {"events": events, "output": str(place)}
    output.show(Reply(answer, f"wrote {events} events to {place}"), target.as_json)


@asks(
    audit,
    FILE,
    option("--source", metavar="TEXT", help="Where it came from. Default: FILE."),
    IN_SPACE,
    create=True,
)
def import_(path: str, source: str | None, space: str | None) -> Question:
    """Verify an exported ledger and import it; what was said in it is no authority here."""
    data = read_bytes(path)
    return lambda calls: calls.import_ledger(data, source=source or path, space=space)


@asks(audit, SESSION, FILE, NOTES)
def merge(session_id: str, path: str, notes: str | None) -> Question:
    """Merge the eliminations of a replica that worked on its own."""
    data = read_bytes(path)
    return lambda calls: calls.merge(session_id, data, notes=notes)


@audit.command()
@argument("source", metavar="FILE|SESSION")
@target_options
def replay(target: Target, source: str) -> None:
    """Rebuild the state twice, by folding what was decided and by deciding it all again.

    Where something was speculated, it is also rebuilt without that: nothing else may have changed.
    """
    from beliefd.cli.views.ledger import replayed
    from beliefd.steward.failures import translating

    is_file = source == "-" or Path(source).is_file()
    data = read_bytes(source) if is_file else target.ask(lambda calls: calls.export(source))
    with translating():
        answer = _replayed(_exported(data))
    output.show(Reply(answer, replayed(answer)), target.as_json)
    sys.exit(Exit.ALLOWED if answer["same"] and answer["same_without"] else Exit.LEDGER_BROKEN)


def _replayed(exported: "Exported") -> dict[str, Any]:
    from beliefd.ledger.envelope import LedgerBroken
    from beliefd.ledger.non_interference import grounded_hash
    from beliefd.ledger.replay import fold
    from beliefd.ledger.state_hash import state_hash
    from beliefd.ledger.verify import verify as verify_entries
    from beliefd.protocol.beliefs import Listed, snapshot_of

    header, entries = exported.header, exported.entries
    with progress("folding", len(entries)) as folded_so_far:
        folded = fold(_counted(entries, folded_so_far))
    with progress("deciding again", len(entries)) as decided_so_far:
        result, decided = verify_entries(
            entries, header.session_id, header.policies, header.head, decided_so_far
        )
    if result.first_bad is not None:
        raise LedgerBroken(result.first_bad.seq, result.first_bad.event_id, result.first_bad.reason)
    if folded is None or decided is None:
        raise LedgerBroken(1, None, "the ledger is empty")
    lanes = _lanes(exported, grounded_hash(folded.session))
    return {
        "same": state_hash(folded.session) == state_hash(decided.session),
        "events": len(entries),
        "state_hash": state_hash(folded.session),
        **lanes,
        "snapshot": snapshot_of(folded.session, folded.head, listed=Listed()),
    }


def _lanes(exported: "Exported", grounded: str) -> dict[str, Any]:
    """How much was speculated, and whether the grounded state is the same without it."""
    from beliefd.ledger.envelope import read
    from beliefd.ledger.non_interference import grounded_again, grounded_hash, without_speculation

    told = [read(entry.record) for entry in exported.entries]
    kept = without_speculation(told)
    session = None if len(kept) == len(told) else grounded_again(kept, exported.header.policies)
    return {
        "speculative_records": len(told) - len(kept),
        "grounded_hash": grounded,
        "same_without": session is None or grounded_hash(session) == grounded,
    }


def _counted(entries: list[Any], report: Progress) -> Iterator[Any]:
    for done, entry in enumerate(entries, 1):
        yield entry
        report(done)


def _verify_one(target: Target, session_id: str) -> "Verified":
    if target.is_embedded:
        with target.embedded() as embedded:
            return verify_stored(embedded, session_id)
    return target.ask(lambda calls: calls.verify(session_id))


def _verify_file(path: str) -> "Verified":
    from beliefd.ledger.transfer import BadExport, read_export
    from beliefd.ledger.verify import verify as verify_entries
    from beliefd.protocol.ledger import FirstBad, Verified
    from beliefd.steward.handlers.ledger import verified

    try:
        exported = read_export(read_bytes(path).splitlines())
    except BadExport as error:
        if error.line == 1:
            raise invalid(f"`{path}`: {error}") from None
        # The header was fine, so this is a ledger, and one that has been damaged.
        bad = FirstBad(seq=error.line - 1, event_id=None, reason=f"it cannot be read: {error.message}")
        return Verified(ok=False, checked=0, first_bad=bad, head=None)
    header = exported.header
    with progress("verifying", len(exported.entries)) as report:
        result, _ = verify_entries(exported.entries, header.session_id, header.policies, header.head, report)
    return verified(result)


def _verify_all(target: Target) -> bool:
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
            cursor = page.next
            if cursor is None:
                return


def _exported(data: bytes) -> "Exported":
    from beliefd.ledger.transfer import BadExport, read_export

    try:
        return read_export(data.splitlines())
    except BadExport as error:
        code = Code.INVALID_REQUEST if error.line == 1 else Code.LEDGER_BROKEN
        raise BeliefdError(code, str(error), {"path": f"line {error.line}"}) from None
