"""Live feeds: the entries of a session as they are written."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final
from weakref import WeakValueDictionary

from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import StorageUnavailable, Store

HEARTBEAT_SECONDS = 15.0
GO_ELSEWHERE: Final = b": the server is stopping; connect again, at another if there is one\nretry: 500\n\n"
"""The last words of a feed: whoever reads it as browsers do comes back after so many milliseconds."""
RETRY_SECONDS = 1.0
PAGE_BYTES = 64 * 1024
MOST_ENTRIES = 256
LONG_BYTES: Final = 512 * 1024
LONG_AT_ONCE: Final = 2
"""Pages of more than `LONG_BYTES` that are there at once for those who listen as one principal. The others
wait until one was taken, or its listener cut: an entry may be of 16 MB, and who listens may never read."""


def next_page(chunk: list[Sealed], page: int) -> int:
    """How many entries to read next. What a listener has not taken yet is held in memory, so pages are small
    in bytes; entries are of any size, so that is learnt from those before."""
    size = size_of(chunk)
    if size > PAGE_BYTES:
        return max(1, page * PAGE_BYTES // size)
    return min(page * 2, MOST_ENTRIES) if len(chunk) == page and size < PAGE_BYTES // 2 else page


def size_of(chunk: list[Sealed]) -> int:
    return sum(len(entry.record) for entry in chunk)


async def _entered(room: asyncio.Semaphore) -> bool:
    try:
        async with asyncio.timeout(HEARTBEAT_SECONDS):
            return await room.acquire()
    except TimeoutError:
        return False


class Feeds:
    """All feeds that this process gives."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: set[asyncio.Event] = set()
        self._rooms: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self.ended = False

    async def follow(
        self, session_id: str, after: int, listener: str = ""
    ) -> AsyncGenerator[list[Sealed] | None, None]:
        """Entries past `after` as they come; None now and then, so that callers can show they are alive.

        A page is its taker's, who may empty it: nothing here holds what was taken.
        """
        room = self._rooms.setdefault(listener, asyncio.Semaphore(LONG_AT_ONCE))
        page = 1
        with self.growth(session_id) as grown:
            while not self.ended:
                grown.clear()
                pause = HEARTBEAT_SECONDS
                try:
                    while chunk := await self._store.entries(session_id, after, page):
                        if size_of(chunk) <= LONG_BYTES:
                            after, page = chunk[-1].seq, next_page(chunk, page)
                            yield chunk
                            continue
                        chunk.clear()
                        while not await _entered(room):
                            yield None
                        try:
                            if chunk := await self._store.entries(session_id, after, page):
                                after, page = chunk[-1].seq, next_page(chunk, page)
                                yield chunk
                        finally:
                            room.release()
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
