"""Following a ledger while it grows: the server's event stream, or a look at the store now and then."""

import time
from collections.abc import Generator, Iterator
from contextlib import closing, nullcontext, suppress
from typing import Any
from urllib.parse import quote

import click
import msgspec

from beliefd.cli.output import console
from beliefd.cli.target import Target
from beliefd.kernel.errors import BeliefdError, Code

POLL_SECONDS = 0.25
SILENCE_SECONDS = 60.0
"""The server sends a sign of life four times as often."""

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
    return _polled(target, session_id, last) if target.is_embedded else _streamed(target, session_id, last)


def _polled(target: Target, session_id: str, last: Entry | None) -> Generator[Entry, None, None]:
    since = None if last is None else last["event_id"]
    with target.calls() as calls:
        while True:
            page = calls.audit_trace(session_id, since_event_id=since)
            for entry in page.events:
                yield entry
                since = entry["event_id"]
            if not page.events:
                time.sleep(POLL_SECONDS)


def _streamed(target: Target, session_id: str, last: Entry | None) -> Generator[Entry, None, None]:
    import httpx

    from beliefd.client.requests import error_from, unreachable

    headers = {} if target.token is None else {"Authorization": f"Bearer {target.token}"}
    if last is not None:
        headers["Last-Event-ID"] = str(last["seq"])
    address = f"{target.url.rstrip('/')}/v1/sessions/{quote(session_id, safe='')}/events"
    try:
        with httpx.stream("GET", address, headers=headers, timeout=SILENCE_SECONDS) as response:
            if response.status_code >= 400:
                raise error_from(response.status_code, response.read())
            for line in response.iter_lines():
                if line.startswith("data: "):
                    yield msgspec.json.decode(line.removeprefix("data: "))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise unreachable(target.url, error) from None
    raise BeliefdError(Code.STORAGE_UNAVAILABLE, f"`{target.url}` has ended the feed")


def print_entry(target: Target, entry: Entry) -> None:
    if target.as_json:
        click.echo(msgspec.json.encode(entry))
        return
    from beliefd.cli.views import event

    console().print(event(entry), soft_wrap=True)


def show_entries(target: Target, session_id: str, since: str | None, go_on: bool) -> None:
    """The timeline so far and, if asked, all that is still to come."""
    last: Entry | None = None
    for entry in entries(target, session_id, since):
        print_entry(target, entry)
        last = entry
    if not go_on:
        return
    if last is None and since is not None:
        last = next(entry for entry in entries(target, session_id) if entry["event_id"] == since)
    with suppress(KeyboardInterrupt), closing(follow(target, session_id, last)) as coming:
        for entry in coming:
            print_entry(target, entry)


def watch_session(target: Target, session_id: str) -> None:
    """Each event as it is recorded, and in a terminal the board below it, until the session is closed."""
    with suppress(KeyboardInterrupt), target.calls() as calls, closing(follow(target, session_id)) as coming:
        screen = None if target.as_json or not console().is_terminal else _Screen()
        with screen or nullcontext():
            for entry in coming:
                if screen is None:
                    print_entry(target, entry)
                else:
                    screen.add(entry, calls.query_belief(session_id, at=entry["seq"]))
                if entry["delta"]["kind"] == "termination_ruled" and entry["delta"]["approved"]:
                    return


class _Screen:
    """The session as it stands, redrawn below the events that led there."""

    def __init__(self) -> None:
        from rich.live import Live

        self._live = Live(console=console(), auto_refresh=False)

    def __enter__(self) -> "_Screen":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def add(self, entry: Entry, snapshot: Any) -> None:
        from beliefd.cli import views

        self._live.console.print(views.event(entry))
        self._live.update(views.snapshot(snapshot), refresh=True)
