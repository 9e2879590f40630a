"""What changes in the inbox, as it changes, for one listener who sees some spaces."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Head
from beliefd.protocol.approvals import InboxNews, change_of
from beliefd.steward.feeds import HEARTBEAT_SECONDS, RETRY_SECONDS, Feeds
from beliefd.stores.base import StorageUnavailable, Store
from beliefd.stores.projections import InboxRow
from beliefd.stores.within import Within

PENDING: Final = "pending"
UNDECIDED: Final = ("information", "running", "done")
"""Rows of the inbox that nobody decides about."""
FIRST: Final = "apr-"
PAUSE_SECONDS: Final = 0.05
"""A busy server is looked at so often, and not once per event."""
AT_ONCE: Final = 500
MOST_FOLLOWED: Final = 10_000


class InboxChange(Struct, frozen=True):
    change: InboxNews
    row: InboxRow


class SessionChange(Struct, frozen=True):
    """A session that has grown, and its last event."""

    session_id: str
    head: Head


Change = InboxChange | SessionChange


class InboxFeed:
    """Looks at the rows of the inbox: they are the same for all processes on one store."""

    def __init__(
        self, store: Store, feeds: Feeds, within: Within, now: str, *, sessions: bool = False
    ) -> None:
        """`now` is an id as events get them at this time. With `sessions`, every one that grows is told."""
        self._sessions = sessions
        self._grown: dict[str, None] = {}
        self._store = store
        self._feeds = feeds
        self._within = within
        self._pending: dict[str, None] = {}
        self._newest = f"{FIRST}{now}"

    async def follow(self) -> AsyncGenerator[Sequence[Change] | None, None]:
        """Changes as they come; None now and then, so that callers can show they are alive."""
        with self._feeds.growth() as grown, self._noting():
            await self._look()  # what is there already is no change
            yield None
            while not self._feeds.ended:
                alive = False
                try:
                    await asyncio.wait_for(grown.wait(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    alive = True
                grown.clear()
                pause = PAUSE_SECONDS
                changes: Sequence[Change]
                try:
                    changes = [*await self._look(), *await self._changed()]
                except StorageUnavailable:
                    changes, pause = [], RETRY_SECONDS
                    grown.set()
                if changes or alive:
                    yield changes or None
                await asyncio.sleep(pause)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Remember which sessions grow, each once until it is told, and no more than a listener is owed."""

        def note(name: str) -> None:
            if name and name != SYSTEM and len(self._grown) < MOST_FOLLOWED:
                self._grown[name] = None

        unsubscribe = self._store.subscribe(note) if self._sessions else None
        try:
            yield
        finally:
            if unsubscribe is not None:
                unsubscribe()

    async def _changed(self) -> list[SessionChange]:
        """INVARIANT: of a session in a space that the listener does not see, nothing is told."""
        names, self._grown = list(self._grown), {}
        found = []
        for name in names:
            if self._within is not None and await self._store.space_of(name) not in self._within:
                continue
            head = await self._store.head(name)
            found += [] if head is None else [SessionChange(name, head)]
        return found

    async def _look(self) -> list[InboxChange]:
        """What is new, then what waits no longer."""
        waiting = {row.approval_id: row for row in await self._rows(PENDING, "", MOST_FOLLOWED)}
        fresh = await self._fresh()
        fresh |= {name: row for name, row in waiting.items() if name not in self._pending}
        gone = [name for name in self._pending if name not in waiting]
        settled = [await self._store.inbox_row(name) for name in gone]
        # What came between the two looks waits as far as is known.
        still = (name for name, row in fresh.items() if row.status == PENDING)
        self._pending = dict.fromkeys((*waiting, *still))
        told = [*(fresh[name] for name in sorted(fresh)), *(row for row in settled if row is not None)]
        return [InboxChange(change_of(row.status), row) for row in told if row.status not in UNDECIDED]

    async def _fresh(self) -> dict[str, InboxRow]:
        """Items of whatever status that are younger than those seen before."""
        found: dict[str, InboxRow] = {}
        while rows := await self._rows(None, self._newest, AT_ONCE):
            # Ids are ordered by time, and those of approvals come before all others.
            mine = {row.approval_id: row for row in rows if row.approval_id.startswith(FIRST)}
            found |= mine
            self._newest = max((self._newest, *mine))
            if len(mine) < AT_ONCE:
                break
        return found

    async def _rows(self, status: str | None, after: str, limit: int) -> list[InboxRow]:
        return await self._store.inbox(status, after, limit, self._within)
