"""What auditors ask of ledgers, in a store, on a server or in an exported file."""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import msgspec

from beliefd.cli import output
from beliefd.cli.feed import Entry, entries, printer
from beliefd.cli.files import read_bytes
from beliefd.cli.output import Exit
from beliefd.cli.progress import progress
from beliefd.cli.short_ids import may_be_short
from beliefd.cli.target import Target
from beliefd.kernel.errors import BeliefdError, Code, invalid

if TYPE_CHECKING:
    from beliefd.client.synchronous import Calls
    from beliefd.ledger.transfer import Exported
    from beliefd.protocol.ledger import Verified

SESSIONS = 500
LEAST_OF_HASH = 8
"""Digits of a hash that are enough to name it."""


def exported_in(data: bytes) -> "Exported":
    """The ledger in a file that `audit export` wrote; nothing of it is verified yet."""
    from beliefd.ledger.transfer import BadExport, read_export

    try:
        return read_export(lines_in(data))
    except BadExport as error:
        code = Code.INVALID_REQUEST if error.line == 1 else Code.LEDGER_BROKEN
        raise BeliefdError(code, str(error), {"path": f"line {error.line}"}) from None


def lines_in(data: bytes) -> Iterator[bytes]:
    """JSON Lines end with a newline; a carriage return alone is white space, here as for other verifiers."""
    return iter(io.BytesIO(data))


def entries_of(exported: "Exported") -> list[Entry]:
    return [msgspec.json.decode(one.wire) for one in exported.entries]


def entries_in(path: str, since: str | None = None) -> Iterator[Entry]:
    """The entries of an exported ledger, past event `since`."""
    found = entries_of(exported_in(read_bytes(path)))
    if since is None:
        yield from found
        return
    fitting = [at for at, one in enumerate(found) if _names(one["event_id"], since)]
    if len(fitting) != 1:
        raise invalid(f"{len(fitting) or 'no'} events of this ledger are `{since}`", "--since")
    yield from found[fitting[0] + 1 :]


def _names(name: str, part: str) -> bool:
    return name == part or (may_be_short(part) and (name.startswith(part) or name.endswith(part)))


def show_ledger(
    target: Target, session_id: str | None, path: str | None, since: str | None, brief: bool
) -> None:
    """A timeline. Of a file it is what is written there: `audit verify --file` says whether it holds."""
    from beliefd.protocol.ledger import AuditPage

    if path is not None:
        found = entries_in(path, since)
        if target.as_json:
            output.print_json(AuditPage(events=list(found), next=None))
            return
    else:
        found = entries(target, str(session_id), since)
    show = printer(target.as_json, brief)
    for entry in found:
        show(entry)


def who(target: Target, name: str, session_id: str | None, path: str | None) -> Exit:
    """Every event that a principal is behind, or that is about a tool, over all that may be read."""
    ledgers = _ledgers(target, session_id, path)
    show = printer(target.as_json)
    found, last = 0, ""
    with progress("reading ledgers", None) as report:
        for read, (ledger, entry) in enumerate(_flat(ledgers), 1):
            report(read)
            if name not in named_in(entry):
                continue
            found += 1
            if not target.as_json and ledger != last:
                click.echo(f"session {output.visible(ledger)}")
                last = ledger
            show({"session_id": ledger, **entry} if target.as_json else entry)
    if not found and not target.as_json:
        output.complain(f"no event is by or about `{name}`")
    return Exit.ALLOWED if found else Exit.FAILED


def _flat(ledgers: Iterator[tuple[str, Iterator[Entry]]]) -> Iterator[tuple[str, Entry]]:
    for ledger, found in ledgers:
        for entry in found:
            yield ledger, entry


def _ledgers(
    target: Target, session_id: str | None, path: str | None
) -> Iterator[tuple[str, Iterator[Entry]]]:
    if path is not None:
        yield exported_in(read_bytes(path)).header.session_id, entries_in(path)
        return
    names = [session_id] if session_id is not None else target.ask(lambda calls: list(_sessions(calls)))
    for name in names:
        yield name, entries(target, name)


def _sessions(calls: "Calls") -> Iterator[str]:
    cursor: str | None = None
    while True:
        page = calls.list_sessions(cursor=cursor, limit=SESSIONS)
        yield from (one.session_id for one in page.sessions)
        cursor = page.next
        if cursor is None:
            return


SPEAKERS = frozenset(
    {"id", "principal", "approver", "proposer", "decided_by", "agent_id", "owner", "source_id"}
)
TOOLS = frozenset({"tool_id", "tool"})


def named_in(entry: Entry) -> set[str]:
    """The principals behind an event, and the tools that it is about."""
    said = {str(entry["actor"]["id"]), *_told(entry["payload"]), *_told(entry["delta"])}
    owner = entry["actor"].get("owner")
    return said | ({owner} if owner else set())


def _told(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str) and (key in TOOLS or (key in SPEAKERS and "://" in inner)):
                yield inner
            elif key == "proposers" and isinstance(inner, list):
                yield from (one for one in inner if isinstance(one, str))
            else:
                yield from _told(inner)
    elif isinstance(value, list):
        for one in value:
            yield from _told(one)


def refuse_other_head(answer: "Verified", expected: str, found: Iterator[Entry]) -> str:
    """Where a hash that was noted earlier stands in a ledger that verifies.

    INVARIANT: what was the head once is an event of every later ledger. A hash that is nowhere means that
    history was rewritten, or cut off and grown anew.
    """
    wanted = expected.lower()
    if len(wanted) < LEAST_OF_HASH or not set(wanted) <= set("0123456789abcdef"):
        raise invalid(f"a head is at least {LEAST_OF_HASH} digits of a SHA-256 in hex", "--expect-head")
    if answer.head is not None and answer.head.hash.startswith(wanted):
        return "the head is the expected one"
    for entry in found:
        if entry["hash"].startswith(wanted):
            later = answer.checked - entry["seq"]
            return f"event {entry['seq']} was the expected head; {later} were recorded since"
    raise BeliefdError(
        Code.LEDGER_BROKEN, f"no event has the expected hash `{expected}`: this is another history"
    )
