"""How fast somebody goes: a bucket each, which fills with time and is emptied by what they do.

Processes on one database, or on one file, share buckets. Nobody waits for that: each process takes from what
it knows of a bucket, and says some moments later how much it took. What several took at once is owed, and the
bucket fills only when that has been made up for: over time all of them let as much pass as one would.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from beliefd.stores.base import Spending, StorageUnavailable, Taken

log = logging.getLogger("beliefd.limits")
MOST: Final = 10_000
"""So many buckets are remembered; one that is full again says nothing."""
SETTLE_SECONDS: Final = 0.1
LIGHT: Final = 0.9
"""Buckets that are as full as this are not told of: whoever goes so slowly is far from every limit."""


class _Bucket(Struct):
    level: float
    at: float
    rate: float
    full: float
    untold: int = 0

    def fill(self, now: float) -> None:
        self.level = min(self.full, self.level + (now - self.at) * self.rate)
        self.at = now


class Buckets:
    """Without a `store` that shares them, they are this process's own."""

    def __init__(self, store: object = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store if isinstance(store, Spending) else None
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}
        self._emptier = asyncio.Event()

    @property
    def are_shared(self) -> bool:
        return self._store is not None

    def take(self, name: str, rate: float, full: float) -> float:
        """Take one, if there is one; what was there before. Below 1 there was none."""
        bucket = self._filled(name, rate, full)
        level = bucket.level
        if level >= 1:
            self._empty(bucket, 1)
        return level

    def has_some(self, name: str) -> bool:
        """Was something left in it when it was last looked at? Then there is, whatever it may hold now."""
        bucket = self._buckets.get(name)
        return bucket is not None and bucket.level > 0

    def left(self, name: str, rate: float, full: float) -> float:
        """What is there; less than nothing, if more was spent."""
        return self._filled(name, rate, full).level

    def spend(self, name: str, rate: float, full: float, count: int) -> None:
        """Take so much, whether it is there or not."""
        self._empty(self._filled(name, rate, full), count)

    def _empty(self, bucket: _Bucket, count: int) -> None:
        bucket.level -= count
        bucket.untold += count
        if self._store is not None and bucket.level < bucket.full * LIGHT:
            self._emptier.set()

    def _filled(self, name: str, rate: float, full: float) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.get(name)
        if bucket is None:
            if len(self._buckets) >= MOST:
                self._forget(now)
            bucket = self._buckets[name] = _Bucket(full, now, rate, full)
        bucket.rate, bucket.full = rate, full
        bucket.fill(now)
        return bucket

    def _forget(self, now: float) -> None:
        """Drop the buckets that have filled up since; if none has, those that are fullest will have soon."""
        for bucket in self._buckets.values():
            bucket.fill(now)
        by_level = sorted(self._buckets.items(), key=lambda one: one[1].level / one[1].full)
        self._buckets = {name: one for name, one in by_level[: MOST // 2] if one.level < one.full}

    async def run(self) -> None:
        """Settle for as long as the server is up; never returns. Where nobody goes fast, nothing is asked."""
        told = ""
        while True:
            await self._emptier.wait()
            self._emptier.clear()
            try:
                await self.settle()
                told = ""
            except StorageUnavailable as error:
                if str(error) != told:
                    log.warning("limits are counted by each process for itself: %s", error)
                told = str(error)
            await asyncio.sleep(SETTLE_SECONDS)

    async def settle(self) -> None:
        """Tell the database what was taken here, and hear what is left after what all others took."""
        if self._store is None:
            return
        telling: dict[str, Taken] = {}
        for name, bucket in self._buckets.items():
            if bucket.untold and bucket.level < bucket.full * LIGHT:
                telling[name] = Taken(name, bucket.untold, bucket.rate, bucket.full)
            bucket.untold = 0
        if not telling:
            return
        try:
            left = await self._store.spend(list(telling.values()))
        except BaseException:
            for name, one in telling.items():
                if name in self._buckets:
                    self._buckets[name].untold += one.count
            raise
        now = self._clock()
        for name, level in left.items():
            if name in self._buckets:
                bucket = self._buckets[name]
                # What was taken while the database was asked is not in its answer.
                bucket.level, bucket.at = level - bucket.untold, now
