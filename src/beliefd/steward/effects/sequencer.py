"""Leaves for what was appended, beside the write path: in batches, after the commit, by whoever comes first.

Several servers on one store may do so at once. The store gives each entry one leaf, and who comes second
finds nothing left to do.
"""

import asyncio
import logging
import time
from typing import Final

from beliefd.steward.log import AT_ONCE, Log
from beliefd.stores.base import StorageUnavailable

log = logging.getLogger("beliefd.log")
GATHER_SECONDS: Final = 0.5
"""What is appended meanwhile is one batch: a leaf is not urgent, and a commit costs a sync."""
SHARE: Final = 20
"""After it looked through all sessions, it rests so many times as long as that took."""
REST: Final = 5.0
"""After each batch it rests so many times as long: meanwhile nobody who appends waits for it."""
MAX_HEARD: Final = 10_000
"""More sessions than these are not remembered one by one, but looked for."""


class Sequencer:
    """Hears which sessions grew, and gives their entries leaves."""

    def __init__(self, tree: Log) -> None:
        self._log = tree
        self._heard: set[str] = set()
        self._all = True
        self._all_after = 0.0
        self._bell = asyncio.Event()

    async def run(self) -> None:
        """As long as the server is up; never returns."""
        unsubscribe = self._log.store.subscribe(self._hear)
        told = ""
        try:
            while True:
                try:
                    await self.round()
                    told = ""
                except StorageUnavailable as error:
                    if str(error) != told:
                        log.warning("new events get no place in the log: %s", error)
                    told = str(error)
                await asyncio.sleep(GATHER_SECONDS)
                if not self._all:
                    await self._bell.wait()
        finally:
            unsubscribe()

    def _hear(self, session_id: str) -> None:
        if session_id and len(self._heard) < MAX_HEARD:
            self._heard.add(session_id)
        else:
            self._all = True
        self._bell.set()

    async def round(self) -> None:
        """Deal with what was heard, and if something may have gone unheard, with everything."""
        self._bell.clear()
        heard, self._heard = self._heard, set()
        try:
            names = sorted(heard)
            for start in range(0, len(names), AT_ONCE):
                await self._log.add(names[start : start + AT_ONCE], REST)
            if self._all and time.monotonic() >= self._all_after:
                self._all = False
                started = time.monotonic()
                await self._log.catch_up(REST)
                now = time.monotonic()
                self._all_after = now + SHARE * (now - started)
        except BaseException:
            self._heard |= heard
            self._all = True
            raise
