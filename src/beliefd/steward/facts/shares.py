"""How much of what all share is because of one principal: what waits for people, runs, open sessions."""

import time
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from beliefd.kernel.approvals.opening import opened_by
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.events import RunStarted
from beliefd.ledger.envelope import Sealed, read
from beliefd.steward.projections.inbox import RUNNING
from beliefd.stores.base import Store

PENDING: Final = "pending"
OPEN: Final = "open"
LOOKED_AGAIN_SECONDS: Final = 1.0
MOST_KNOWN: Final = 10_000
"""So many principals are remembered; they are looked up again after that."""


class _Known(Struct):
    count: int
    until: float


class Shares:
    """Counts in the store, which all processes share. Far below a limit it is asked about once a second."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str], _Known] = {}

    async def pending(self, principal_id: str, limit: int, unwritten: Sequence[Sealed] = ()) -> int:
        """Items that wait for a person because of this principal; if below `limit`, at most so many."""
        return await self._count(principal_id, PENDING, limit, unwritten)

    async def running(self, principal_id: str, limit: int, unwritten: Sequence[Sealed] = ()) -> int:
        """The runs that a principal has under way, likewise."""
        return await self._count(principal_id, RUNNING, limit, unwritten)

    async def sessions(self, principal_id: str, limit: int) -> int:
        """The sessions that a principal has open, likewise."""
        return await self._count(principal_id, OPEN, limit, ())

    async def _count(self, principal_id: str, status: str, limit: int, unwritten: Sequence[Sealed]) -> int:
        now, key = time.monotonic(), (principal_id, status)
        known = self._known.get(key)
        # Whoever asks may be about to add one, and other processes add theirs.
        if known is not None and now < known.until and known.count + 1 < limit // 2:
            known.count += 1
            return known.count
        if status == OPEN:
            count = await self._store.open_sessions(principal_id)
        else:
            count = await self._store.inbox_count(principal_id, status)
        if count < limit:
            count += _added(unwritten, principal_id, status)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[key] = _Known(count, now + LOOKED_AGAIN_SECONDS)
        return count


def _added(unwritten: Iterable[Sealed], principal_id: str, status: str) -> int:
    """What events add that are decided and not in the store yet."""
    events = (read(one.record).delta for one in unwritten)
    return sum(_adds(event, principal_id, status) for event in events)


def _adds(event: Event, principal_id: str, status: str) -> int:
    if status == RUNNING:
        return int(isinstance(event, RunStarted) and event.run.started_by == principal_id)
    return sum(one.status == status and one.proposer.id == principal_id for one in opened_by(event))
