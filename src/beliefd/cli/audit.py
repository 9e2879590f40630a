"""`beliefd audit`: read, verify, replay and carry ledgers."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from beliefd.cli.output import Exit, console, print_json
from beliefd.cli.session import SESSION
from beliefd.cli.target import Target, target_options
from beliefd.kernel.errors import BeliefdError, Code, invalid

if TYPE_CHECKING:
    from beliefd.embedded import Embedded
    from beliefd.ledger.transfer import Exported
    from beliefd.protocol.ledger import Verified
    from beliefd.stores.base import SessionRow

LONG_LEDGER = 5_000
"""From here on a bar shows how far the checking is."""
STEP = 500
Progress = Callable[[int], None]


@click.group()
def audit() -> None:
    """Read, verify, replay, export, import and merge ledgers."""


@audit.command()
@SESSION
@click.option("--since", metavar="EVENT", help="Only what came after this event.")
@click.option("--follow", is_flag=True, help="Keep printing what is recorded, until Ctrl-C.")
@target_options
def show(target: Target, session_id: str, since: str | None, follow: bool) -> None:
    """Print the ledger as a timeline; with --json, one event a line when following."""
    from beliefd.cli.feed import follow_entries, show_entries

    if follow:
        follow_entries(target, session_id, since)
    elif target.as_json:
        print_json(target.ask(lambda calls: calls.audit_trace(session_id, since_event_id=since)))
    else:
        show_entries(target, session_id, since)


@audit.command()
@click.argument("session_id", metavar="[SESSION]", required=False)
@click.option("--file", "path", metavar="FILE", help="An exported ledger; no server or store is needed.")
@click.option("--all", "every", is_flag=True, help="Every session that there is.")
@target_options
def verify(target: Target, session_id: str | None, path: str | None, every: bool) -> None:
    """Recompute every hash, link and decision, and name the first event that does not hold."""
    from beliefd.cli import views

    if [session_id is not None, path is not None, every].count(True) != 1:
        raise click.UsageError("give one of SESSION, `--file` or `--all`")
    if every:
        _verify_all(target)
        return
    answer = _verify_file(path) if path is not None else _verify_one(target, str(session_id))
    target.show(answer, views.verified)
    if not answer.ok:
        sys.exit(Exit.LEDGER_BROKEN)


@audit.command()
@SESSION
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Default: stdout.")
@target_options
def export(target: Target, session_id: str, output: Path | None) -> None:
    """Write the ledger as JSON Lines, ready for any verifier."""
    data = target.ask(lambda calls: calls.export(session_id))
    if output is None:
        sys.stdout.buffer.write(data)
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise invalid(f"cannot write `{output}`: {error.strerror}") from None
    events = len(data.splitlines()) - 1
    if target.as_json:
        print_json({"events": events, "output": str(output)})
    else:
        click.echo(f"wrote {events} events to {output}")


@audit.command("import")
@click.argument("path", metavar="FILE")
@target_options
def import_(target: Target, path: str) -> None:
    """Verify an exported ledger and take it in."""
    from beliefd.cli import views

    data = _read(path)
    target.show(target.ask(lambda calls: calls.import_ledger(data), create=True), views.imported)


@audit.command()
@SESSION
@click.argument("path", metavar="FILE")
@target_options
def merge(target: Target, session_id: str, path: str) -> None:
    """Take over the eliminations of a replica that was apart."""
    from beliefd.cli import views

    data = _read(path)
    target.show(target.ask(lambda calls: calls.merge(session_id, data)), views.eliminated)


@audit.command()
@click.argument("source", metavar="FILE|SESSION")
@target_options
def replay(target: Target, source: str) -> None:
    """Rebuild the state twice, by folding what was decided and by deciding it all again.

    Where something was speculated, it is also rebuilt without that: nothing else may have changed.
    """
    from beliefd.ledger.envelope import LedgerBroken
    from beliefd.steward.handle import ledger_broken

    is_file = source == "-" or Path(source).is_file()
    data = _read(source) if is_file else target.ask(lambda calls: calls.export(source))
    try:
        answer = _replayed(_exported(data))
    except LedgerBroken as error:
        raise ledger_broken(error) from None
    target.show(answer, _replay_view)
    if not answer["same"]:
        sys.exit(Exit.LEDGER_BROKEN)


def _replayed(exported: "Exported") -> dict[str, Any]:
    from beliefd.ledger.envelope import LedgerBroken
    from beliefd.ledger.non_interference import grounded_hash
    from beliefd.ledger.replay import fold
    from beliefd.ledger.state_hash import state_hash
    from beliefd.ledger.verify import verify as verify_entries
    from beliefd.protocol.beliefs import snapshot_of

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
    lanes = _lanes(entries, grounded_hash(folded.session))
    return {
        "same": state_hash(folded.session) == state_hash(decided.session) and lanes["same_without"],
        "events": len(entries),
        "state_hash": state_hash(folded.session),
        **lanes,
        "snapshot": snapshot_of(folded.session, folded.head),
    }


def _lanes(entries: list[Any], grounded: str) -> dict[str, Any]:
    """How much was speculated, and whether the grounded state is the same without it."""
    from beliefd.ledger.envelope import read
    from beliefd.ledger.non_interference import grounded_hash, refolded, without_speculation

    told = [read(entry.record) for entry in entries]
    kept = without_speculation(told)
    session = None if len(kept) == len(told) else refolded(kept)
    return {
        "speculative_records": len(told) - len(kept),
        "grounded_hash": grounded,
        "same_without": session is None or grounded_hash(session) == grounded,
    }


def _counted(entries: list[Any], report: Progress) -> Iterator[Any]:
    for done, entry in enumerate(entries, 1):
        yield entry
        report(done)


def _lanes_view(answer: dict[str, Any]) -> Any:
    from rich.text import Text

    verdict = ("the same", "green") if answer["same_without"] else ("another", "bold red")
    return Text.assemble(
        f"without its {answer['speculative_records']} speculative records the grounded state is ",
        verdict,
        (f": {answer['grounded_hash']}", "dim"),
    )


def _replay_view(answer: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.text import Text

    from beliefd.cli import views

    verdict = ("same state", "green") if answer["same"] else ("another state", "bold red")
    return Group(
        Text.assemble(f"{answer['events']} events folded and decided again: ", verdict),
        Text.assemble(("state ", "dim"), answer["state_hash"]),
        *([_lanes_view(answer)] if answer["speculative_records"] else []),
        views.snapshot(answer["snapshot"]),
    )


def _verify_one(target: Target, session_id: str) -> "Verified":
    if target.is_embedded:
        with target.embedded() as embedded:
            return verify_stored(embedded, session_id)
    return target.ask(lambda calls: calls.verify(session_id))


def verify_stored(embedded: "Embedded", session_id: str) -> "Verified":
    """Verify in this process, with a bar if it takes long."""
    from beliefd.steward.queries import verify_session

    steward = embedded.steward
    head = embedded.run(lambda: steward.store.head(session_id))
    with progress("verifying", 0 if head is None else head.seq) as report:
        return embedded.run(lambda: verify_session(steward, session_id, report))


def _verify_file(path: str) -> "Verified":
    from beliefd.ledger.transfer import BadExport, read_export
    from beliefd.ledger.verify import verify as verify_entries
    from beliefd.protocol.ledger import FirstBad, Verified
    from beliefd.steward.queries import verified

    try:
        exported = read_export(_read(path).splitlines())
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


def _verify_all(target: Target) -> None:
    from rich.text import Text

    from beliefd.cli import views

    checked: dict[str, Verified] = {}
    for session_id, answer in _verify_each(target):
        checked[session_id] = answer
        if not target.as_json:
            console().print(Text.assemble((f"{session_id}  ", "dim"), views.verified(answer)), soft_wrap=True)
    ok = all(answer.ok for answer in checked.values())
    if target.as_json:
        print_json({"ok": ok, "sessions": checked})
    else:
        click.echo(f"{len(checked)} ledgers checked")
    if not ok:
        sys.exit(Exit.LEDGER_BROKEN)


def _verify_each(target: Target) -> Iterator[tuple[str, "Verified"]]:
    if target.is_embedded:
        with target.embedded() as embedded:
            for row in sessions_of(embedded):
                yield row.session_id, verify_stored(embedded, row.session_id)
        return
    with target.calls() as calls:
        cursor: str | None = None
        while True:
            page = calls.list_sessions(cursor=cursor, limit=500)
            listed = [item.session_id for item in page.sessions] + [one.session_id for one in page.broken]
            for session_id in sorted(listed):  # ids are ordered by time
                yield session_id, calls.verify(session_id)
            cursor = page.next
            if cursor is None:
                return


def sessions_of(embedded: "Embedded") -> Iterator["SessionRow"]:
    """All sessions as the store lists them: it can name ledgers that are too broken to be folded."""
    after: str | None = None
    while rows := _page(embedded, after):
        yield from rows
        after = rows[-1].session_id


def _page(embedded: "Embedded", after: str | None) -> "list[SessionRow]":
    return embedded.run(lambda: embedded.steward.store.sessions(after, 500))


@contextmanager
def progress(what: str, total: int) -> Iterator[Progress]:
    """A bar on stderr for long ledgers, nothing for short ones."""
    if total < LONG_LEDGER:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True)) as shown:
        task = shown.add_task(what, total=total)
        told = 0

        def report(done: int) -> None:
            nonlocal told
            if done - told >= STEP or done == total:
                told = done
                shown.update(task, completed=done)

        yield report


def _exported(data: bytes) -> "Exported":
    from beliefd.ledger.transfer import BadExport, read_export

    try:
        return read_export(data.splitlines())
    except BadExport as error:
        code = Code.INVALID_REQUEST if error.line == 1 else Code.LEDGER_BROKEN
        raise BeliefdError(code, str(error), {"path": f"line {error.line}"}) from None


def _read(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise invalid(f"cannot read `{path}`: {error.strerror}") from None
