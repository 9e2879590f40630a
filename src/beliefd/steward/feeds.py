"""Live feeds: the entries of a session as they are written."""

import asyncio
from collections.abc import AsyncGenerator

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
        self._ended = False

    async def follow(self, session_id: str, after: int) -> AsyncGenerator[list[Sealed] | None, None]:
        """Entries past `after` as they come; None now and then, so that callers can show they are alive."""
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
                        yield chunk
                        after, page = chunk[-1].seq, next_page(chunk, page)
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
