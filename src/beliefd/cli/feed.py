"""Following a ledger while it grows: the server's event stream, or the store asked again and again."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from typing import Any

from beliefd.cli.output import console, print_json
from beliefd.cli.target import Target
from beliefd.kernel.errors import invalid

Entry = dict[str, Any]


def entries(target: Target, session_id: str, since: str | None = None) -> Iterator[Entry]:
    """What the ledger holds past event `since`, page by page."""
    with target.calls() as calls:
        while True:
            page = calls.audit_trace(session_id, since_event_id=since)
            yield from page.events
            if page.next is None:
                return
            since = page.next


def follow(target: Target, session_id: str, last: Entry | None = None) -> Generator[Entry, None, None]:
    """Entries past `last` as they come; it does not end by itself."""
    with target.calls() as calls:
        yield from calls.events(session_id, None if last is None else last["seq"])


def printer(as_json: bool, brief: bool = False) -> Callable[[Entry], None]:
    """How an entry is printed: as one line of JSON, or of the timeline with what it is about below it."""
    if as_json:
        return print_json
    from beliefd.cli.views import details, event

    shown = console()

    def show(entry: Entry) -> None:
        for line in (event(entry), *(() if brief else details(entry))):
            shown.print(line, soft_wrap=True)

    return show


def follow_entries(target: Target, session_id: str, since: str | None, brief: bool) -> None:
    """What there is past `since`, and then all that is still to come."""
    show = printer(target.as_json, brief)
    with suppress(KeyboardInterrupt):
        last = None if since is None else entry_of(target, session_id, since)
        with closing(follow(target, session_id, last)) as coming:
            for entry in coming:
                show(entry)


def entry_of(target: Target, session_id: str, event_id: str) -> Entry:
    for entry in entries(target, session_id):
        if entry["event_id"] == event_id:
            return entry
    raise invalid(f"no event `{event_id}` in this session", "--since")


def watch_session(target: Target, session_id: str) -> None:
    """Each event as it is recorded, and in a terminal the board below it, until the session is closed."""
    with suppress(KeyboardInterrupt), closing(follow(target, session_id)) as coming:
        until_closed = _until_closed(coming)
        if target.as_json or not console().is_terminal:
            show = printer(target.as_json)
            for entry in until_closed:
                show(entry)
        else:
            _draw(target, session_id, until_closed)


def _until_closed(coming: Iterator[Entry]) -> Iterator[Entry]:
    for entry in coming:
        yield entry
        if entry["delta"]["kind"] == "termination_ruled" and entry["delta"]["approved"]:
            return


def _draw(target: Target, session_id: str, coming: Iterator[Entry]) -> None:
    """The session as it stands, redrawn below the events that led there."""
    from rich.live import Live

    from beliefd.cli.views import event
    from beliefd.cli.views.drawing import view

    with target.calls() as calls, Live(console=console(), auto_refresh=False) as live:
        for entry in coming:
            live.console.print(event(entry))
            live.update(view(calls.query_belief(session_id, at=entry["seq"])), refresh=True)
