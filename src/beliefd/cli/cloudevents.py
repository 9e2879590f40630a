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
from beliefd.cli.output import complain
from beliefd.cli.target import Target
from beliefd.client.waiting import growing_pauses
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.protocol.cloudevents import MEDIA, cloud_event
from beliefd.steward.effects.webhook import signature
from beliefd.steward.effects.webhook_secret import secret_from
from beliefd.steward.key_files import read_private, write_private

TIMEOUT_SECONDS: Final = 10.0
TRIES: Final = 6
"""So often an event is sent to somebody who does not take it, unless the ledger is followed."""
PRIVATE: Final = 0o600
PAGE: Final = 100
ROUND_SECONDS: Final = 2.0
"""Between two looks at all sessions for those that have grown."""
Deliver = Callable[[bytes], None]


class Delivered(Struct, frozen=True):
    """How many events were handed over, and the last of them: `--since` goes on after it."""

    events: int
    last_event_id: str | None


class Destination(Struct, frozen=True):
    """Where events go: a file, an address (signed with the key in `secret`, if there is one), or stdout.

    `seen` is a file that says what an address has taken, for exports of all sessions.
    """

    place: Path | None = None
    post: str | None = None
    secret: Path | None = None
    seen: Path | None = None


def export_cloud_events(
    target: Target, session_id: str, since: str | None, to: Destination, keep_on: bool
) -> Delivered:
    """What the ledger holds past an event, and with `keep_on` all that is still to come."""
    _check(to)
    if to.seen is not None:
        raise invalid("it goes with `--all`; of one session, `--since` says where to go on", "--seen")
    done, last = 0, since
    if to.place is not None and last is None:
        last = next(reversed(_last_in(to.place).values()), None)
    with ExitStack() as opened, suppress(KeyboardInterrupt):
        deliver = _receiver(opened, to, keep_on)
        for entry in _coming(opened, target, session_id, last, keep_on):
            deliver(msgspec.json.encode(cloud_event(entry)))
            done, last = done + 1, entry["event_id"]
    return Delivered(done, last)


def export_all_cloud_events(target: Target, to: Destination, keep_on: bool) -> Delivered:
    """The same of all sessions that one may see, each in its order; with `keep_on`, round after round."""
    _check(to)
    if to.seen is not None and to.post is None:
        raise invalid("it goes with `--post`: a file says itself what is in it", "--seen")
    last = _last_in(to.place) if to.place is not None else _seen_in(to.seen)
    told = Delivered(0, None)
    with ExitStack() as opened, suppress(KeyboardInterrupt):
        deliver = _receiver(opened, to, keep_on)
        while True:
            for session_id in _grown(target, last):
                for entry in _since(target, session_id, last.get(session_id)):
                    deliver(msgspec.json.encode(cloud_event(entry)))
                    last[session_id] = entry["event_id"]
                    told = Delivered(told.events + 1, entry["event_id"])
                if to.seen is not None:
                    write_private(to.seen, msgspec.json.encode(last) + b"\n", replace=True)
            if not keep_on:
                break
            time.sleep(ROUND_SECONDS)
    return told


def _since(target: Target, session_id: str, last: str | None) -> Iterator[Entry]:
    """What a session holds past an event. One that was put away or broke meanwhile holds up no other."""
    coming = entries(target, session_id, last)
    while True:
        try:
            entry = next(coming, None)
        except BeliefdError as error:
            if error.code not in (Code.SESSION_ARCHIVED, Code.SESSION_NOT_FOUND, Code.LEDGER_BROKEN):
                raise
            complain(f"session {session_id} is left out: {error.message}")
            return
        if entry is None:
            return
        yield entry


def _check(to: Destination) -> None:
    if to.place is not None and to.post is not None:
        raise invalid("give `--output` or `--post`, not both", "--post")
    if to.secret is not None and to.post is None:
        raise invalid("it goes with `--post`: what is sent is signed", "--webhook-key")


def _grown(target: Target, last: dict[str, str]) -> Iterator[str]:
    """Sessions with events that were not told. Ledgers that are broken or put away are left out."""
    cursor: str | None = None
    with target.calls() as calls:
        while True:
            page = calls.list_sessions(cursor=cursor, limit=PAGE)
            yield from (
                one.session_id for one in page.sessions if last.get(one.session_id) != one.audit_head_event_id
            )
            if (cursor := page.next) is None:
                return


def _seen_in(seen: Path | None) -> dict[str, str]:
    data = None if seen is None else read_private(seen)
    try:
        return {} if data is None else msgspec.json.decode(data, type=dict[str, str])
    except msgspec.MsgspecError as error:
        raise invalid(f"`{seen}` does not say what was taken: {error}", "--seen") from None


def _coming(
    opened: ExitStack, target: Target, session_id: str, since: str | None, keep_on: bool
) -> Iterator[Entry]:
    if not keep_on:
        return entries(target, session_id, since)
    last = None if since is None else entry_of(target, session_id, since)
    return opened.enter_context(closing(follow(target, session_id, last)))


def _receiver(opened: ExitStack, to: Destination, keep_on: bool) -> Deliver:
    if to.post is not None:
        http = opened.enter_context(httpx.Client(timeout=TIMEOUT_SECONDS))
        key = None if to.secret is None else secret_from(to.secret)
        return _posting(http, to.post, None if keep_on else TRIES, key)
    if to.place is None:
        return _printing
    file = opened.enter_context(_appending(to.place))

    def write(event: bytes) -> None:
        file.write(event + b"\n")
        file.flush()

    return write


def _printing(event: bytes) -> None:
    sys.stdout.buffer.write(event + b"\n")
    sys.stdout.buffer.flush()


def _appending(place: Path) -> Any:
    import os

    try:
        return os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE), "ab")
    except OSError as error:
        raise invalid(f"cannot write `{place}`: {error.strerror}") from None


def _last_in(place: Path) -> dict[str, str]:
    """Where earlier exports into the same file ended, by session, the newest last. A line that was cut off is
    finished by nobody."""
    found: dict[str, str] = {}
    try:
        with place.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    raise ValueError("its last line was cut off")
                event = msgspec.json.decode(line, type=_Told)
                found.pop(event.data.session_id, None)
                found[event.data.session_id] = event.id
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise invalid(f"`{place}` does not end with a CloudEvent: {error}", "--output") from None
    return found


class _Entry(Struct):
    session_id: str


class _Told(Struct):
    id: str
    data: _Entry


def _posting(http: httpx.Client, url: str, tries: int | None, key: bytes | None) -> Deliver:
    """INVARIANT: the next event is sent after this one was taken: their order is that of the ledger."""

    def post(event: bytes) -> None:
        problem = ""
        for tried, pause in enumerate(growing_pauses(), 1):
            try:
                answer = http.post(url, content=event, headers=_headers(event, key))
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


def _headers(event: bytes, key: bytes | None) -> dict[str, str]:
    """With a key, the signature that webhooks have: each event is a message of its own."""
    headers = {"Content-Type": MEDIA}
    if key is None:
        return headers
    name, at = str(msgspec.json.decode(event)["id"]), int(time.time())
    told = {"webhook-id": name, "webhook-timestamp": str(at)}
    return {**headers, **told, "webhook-signature": signature(key, name, at, event)}
