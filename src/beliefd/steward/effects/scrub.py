"""The scrub: all ledgers followed from beginning to end, slowly, over and over, beside the requests.

What is asked for is checked when it is read. The scrub finds what nobody asks for. After the ledgers it
compares the log with them, as `beliefd log check` does; while they contradict each other, nothing is signed.
"""

import asyncio
import logging
import os
import time
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from beliefd.kernel.errors import BeliefdError
from beliefd.ledger.envelope import LedgerBroken
from beliefd.ledger.marks import Marks
from beliefd.ledger.replay import Walk
from beliefd.steward.chains import Chains
from beliefd.steward.effects.last_signed import LastSigned
from beliefd.steward.log_repair import look
from beliefd.stores.base import StorageUnavailable

log = logging.getLogger("beliefd.scrub")
STEP: Final = 1_000
"""So many entries are followed at a time."""
PAGE: Final = 100
SHARE: Final = 20
"""After each step it rests so many times as long as that took: it has a small share of the machine."""
LEAST_REST: Final = 0.02
NOTE_SECONDS: Final = 1.0
ROUND_SECONDS: Final = 3600.0
"""From the end of one round to the beginning of the next."""


class Place(Struct, frozen=True):
    """How far a round is: this session was followed up to here, and those before it to their ends."""

    session_id: str
    seq: int
    hash: str


class _Pace:
    """Rests once there was enough to do that it is worth it: a share of the machine is left to others."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    async def __call__(self) -> None:
        if (took := time.monotonic() - self._since) >= LEAST_REST:
            await asyncio.sleep(SHARE * took)
            self._since = time.monotonic()


class Scrub:
    """Walks all ledgers. `file` keeps its place, so that a restart does not begin all over again."""

    def __init__(self, chains: Chains, file: Path | None = None, signed: LastSigned | None = None) -> None:
        self._chains = chains
        self._store = chains.store
        self._file = file
        self._signed = signed
        self._noted = 0.0

    async def run(self) -> None:
        """Round after round; never returns."""
        while True:
            try:
                await self.round()
                await asyncio.sleep(ROUND_SECONDS)
            except (BeliefdError, StorageUnavailable) as error:
                log.warning("ledgers are not being scrubbed: %s", error)
                await asyncio.sleep(1.0)

    async def round(self) -> None:
        """Follow every ledger once, from where the last round was broken off."""
        place = self._recall()
        if place is not None:
            await self.look_at(place.session_id, Marks(place.seq, place.hash))
        after = None if place is None else place.session_id
        while rows := await self._store.sessions(after, PAGE):
            for row in rows:
                await self.look_at(row.session_id)
            after = rows[-1].session_id
        self._note(None)
        if self._signed is not None:
            await self._look_at_log(self._signed)

    async def _look_at_log(self, signed: LastSigned) -> None:
        try:
            told = (await look(self._store, rest=_Pace())).complaints
        except LedgerBroken as error:
            told = [str(error)]
        if told:
            log.error("the log and the ledgers contradict each other: %s", "; ".join(told))
        signed.note_damage(told)

    async def look_at(self, session_id: str, marks: Marks | None = None) -> bool:
        """Follow one ledger to its head; what does not hold is not served from then on. Does it hold?"""
        try:
            if await self._leads_to_its_head(session_id, marks or Marks()):
                if self._chains.acquit(session_id):
                    log.warning("session %s holds again", session_id)
                return True
        except LedgerBroken:
            pass
        if marks is not None:
            return await self.look_at(session_id)  # the place that was noted may be of another ledger
        known = session_id in self._chains.broken
        error = await self._chains.condemned(session_id)
        if session_id in self._chains.broken and not known:
            log.error("the ledger of session %s is broken: %s", session_id, error)
        return session_id not in self._chains.broken

    async def _leads_to_its_head(self, session_id: str, marks: Marks) -> bool:
        head = await self._store.head(session_id)
        if head is None:
            return True
        while marks.seq < head.seq:
            started = time.monotonic()
            walk = Walk(Marks(*marks.end))
            await self._store.replay(session_id, marks.seq, min(marks.seq + STEP, head.seq), walk.take)
            if walk.marks.seq == marks.seq:
                return False
            self._chains.scrubbed += walk.marks.seq - marks.seq
            marks = Marks(*walk.marks.end)
            self._note(Place(session_id, *marks.end))
            await asyncio.sleep(max(LEAST_REST, SHARE * (time.monotonic() - started)))
        return marks.end == (head.seq, head.hash)

    # -- its place -----------------------------------------------------------------------------------

    def _recall(self) -> Place | None:
        try:
            return None if self._file is None else msgspec.json.decode(self._file.read_bytes(), type=Place)
        except (OSError, msgspec.MsgspecError):
            return None

    def _note(self, place: Place | None) -> None:
        """A place that cannot be kept costs a round that begins earlier, and nothing else."""
        now = time.monotonic()
        if self._file is None or (place is not None and now - self._noted < NOTE_SECONDS):
            return
        self._noted = now
        try:
            if place is None:
                self._file.unlink(missing_ok=True)
                return
            beside = self._file.with_name(self._file.name + ".new")
            handle = os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(place))
            beside.replace(self._file)
        except OSError as error:
            log.debug("the place of the scrub is not kept: %s", error)
