"""The audit feed as CloudEvents: to stdout, into a file, or to an address, in order and at least once."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
from msgspec import Struct

from beliefd.cli.feed import Entry, entries, entry_of, follow
from beliefd.cli.target import Target
from beliefd.client.waiting import growing_pauses
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.protocol.cloudevents import MEDIA, cloud_event

TIMEOUT_SECONDS: Final = 10.0
TRIES: Final = 6
"""So often an event is sent to somebody who does not take it, unless the ledger is followed."""
PRIVATE: Final = 0o600
Deliver = Callable[[bytes], None]


class Delivered(Struct, frozen=True):
    """How many events were handed over, and the last of them: `--since` goes on after it."""

    events: int
    last_event_id: str | None


def export_cloud_events(
    target: Target, session_id: str, since: str | None, place: Path | None, post: str | None, keep_on: bool
) -> Delivered:
    """What the ledger holds past an event, and with `keep_on` all that is still to come."""
    if place is not None and post is not None:
        raise invalid("give `--output` or `--post`, not both", "--post")
    done, last = 0, since
    with ExitStack() as opened, suppress(KeyboardInterrupt):
        deliver, last = _receiver(opened, place, post, keep_on, last)
        for entry in _coming(opened, target, session_id, last, keep_on):
            deliver(msgspec.json.encode(cloud_event(entry)))
            done, last = done + 1, entry["event_id"]
    return Delivered(done, last)


def _coming(
    opened: ExitStack, target: Target, session_id: str, since: str | None, keep_on: bool
) -> Iterator[Entry]:
    if not keep_on:
        return entries(target, session_id, since)
    last = None if since is None else entry_of(target, session_id, since)
    return opened.enter_context(closing(follow(target, session_id, last)))


def _receiver(
    opened: ExitStack, place: Path | None, post: str | None, keep_on: bool, since: str | None
) -> tuple[Deliver, str | None]:
    if post is not None:
        http = opened.enter_context(httpx.Client(timeout=TIMEOUT_SECONDS))
        return _posting(http, post, None if keep_on else TRIES), since
    if place is None:
        return _printing, since
    since = since or _last_in(place)
    file = opened.enter_context(_appending(place))

    def write(event: bytes) -> None:
        file.write(event + b"\n")
        file.flush()

    return write, since


def _printing(event: bytes) -> None:
    sys.stdout.buffer.write(event + b"\n")
    sys.stdout.buffer.flush()


def _appending(place: Path) -> Any:
    import os

    try:
        return os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE), "ab")
    except OSError as error:
        raise invalid(f"cannot write `{place}`: {error.strerror}") from None


def _last_in(place: Path) -> str | None:
    """Where an earlier export into the same file ended. A line that was cut off is finished by nobody."""
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        return None
    if not data:
        return None
    try:
        if not data.endswith(b"\n"):
            raise ValueError("its last line was cut off")
        return str(msgspec.json.decode(data.rstrip(b"\n").rpartition(b"\n")[2])["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise invalid(f"`{place}` does not end with a CloudEvent: {error}", "--output") from None


def _posting(http: httpx.Client, url: str, tries: int | None) -> Deliver:
    """INVARIANT: the next event is sent after this one was taken: their order is that of the ledger."""

    def post(event: bytes) -> None:
        problem = ""
        for tried, pause in enumerate(growing_pauses(), 1):
            try:
                answer = http.post(url, content=event, headers={"Content-Type": MEDIA})
                if answer.is_success:
                    return
                problem = f"status {answer.status_code}"
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                problem = str(error) or type(error).__name__
            if tried == tries:
                break
            time.sleep(pause)
        name = msgspec.json.decode(event)["id"]
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, f"`{url}` does not take event `{name}`: {problem}")

    return post
