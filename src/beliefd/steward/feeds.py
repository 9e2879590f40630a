"""Live feeds: the entries of a session as they are written."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import StorageUnavailable, Store

HEARTBEAT_SECONDS = 15.0
RETRY_SECONDS = 1.0
PAGE_BYTES = 64 * 1024
MOST_ENTRIES = 256


def next_page(chunk: list[Sealed], page: int) -> int:
    """How many entries to read next. What a listener has not taken yet is held in memory, so pages are small
    in bytes; entries are of any size, so that is learnt from those before."""
    size = sum(len(entry.record) for entry in chunk)
    if size > PAGE_BYTES:
        return max(1, page * PAGE_BYTES // size)
    return min(page * 2, MOST_ENTRIES) if len(chunk) == page and size < PAGE_BYTES // 2 else page


class Feeds:
    """All feeds that this process gives."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: set[asyncio.Event] = set()
        self.ended = False

    async def follow(self, session_id: str, after: int) -> AsyncGenerator[list[Sealed] | None, None]:
        """Entries past `after` as they come; None now and then, so that callers can show they are alive."""
        page = 1
        with self.growth(session_id) as grown:
            while not self.ended:
                grown.clear()
                pause = HEARTBEAT_SECONDS
                try:
                    while chunk := await self._store.entries(session_id, after, page):
                        yield chunk
                        after, page = chunk[-1].seq, next_page(chunk, page)
                except StorageUnavailable:
                    # A listener that is sent away now could not come back yet: it waits here instead.
                    pause = RETRY_SECONDS
                try:
                    await asyncio.wait_for(grown.wait(), pause)
                except TimeoutError:
                    yield None

    @contextmanager
    def growth(self, session_id: str | None = None) -> Iterator[asyncio.Event]:
        """An event that is set when a session grows, or any, or when this process ends its feeds."""
        grown = asyncio.Event()
        names = None if session_id is None else ("", session_id)
        unsubscribe = self._store.subscribe(
            lambda name: grown.set() if names is None or name in names else None
        )
        self._waiting.add(grown)
        try:
            yield grown
        finally:
            self._waiting.discard(grown)
            unsubscribe()

    async def wait(self, session_id: str, seconds: float, done: Callable[[], Awaitable[bool]]) -> None:
        """Until something is done in a session, or the time is up."""
        until = time.monotonic() + seconds
        with self.growth(session_id) as grown:
            while not self.ended:
                grown.clear()
                left = until - time.monotonic()
                if await done() or left <= 0:
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(grown.wait(), left)

    def end(self) -> None:
        """Wake every feed for the last time: a server that stops must not wait for its listeners."""
        self.ended = True
        for grown in self._waiting:
            grown.set()
