"""Live feeds: the entries of a session as they are written."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final
from weakref import WeakValueDictionary

from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import StorageUnavailable, Store

HEARTBEAT_SECONDS = 15.0
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
        self._ended = False

    async def follow(
        self, session_id: str, after: int, listener: str = ""
    ) -> AsyncGenerator[list[Sealed] | None, None]:
        """Entries past `after` as they come; None now and then, so that callers can show they are alive.

        A page is its taker's, who may empty it: nothing here holds what was taken.
        """
        room = self._rooms.setdefault(listener, asyncio.Semaphore(LONG_AT_ONCE))
        grown = asyncio.Event()
        unsubscribe = self._store.subscribe(lambda sid: grown.set() if sid in ("", session_id) else None)
        self._waiting.add(grown)
        page = 1
        try:
            while not self._ended:
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
        finally:
            self._waiting.discard(grown)
            unsubscribe()

    def end(self) -> None:
        """Wake every feed for the last time: a server that stops must not wait for its listeners."""
        self._ended = True
        for grown in self._waiting:
            grown.set()
