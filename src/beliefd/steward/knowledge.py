"""The graph carried elsewhere, event by event."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Protocol

from msgspec import Struct

from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.transfers.state import Foreign
from beliefd.knowledge.graph import GraphRows, merged
from beliefd.knowledge.typedb import Cursor, GraphUnavailable
from beliefd.ledger.envelope import LedgerBroken, Sealed, read
from beliefd.ledger.replay import Position, fold
from beliefd.steward.offload import is_heavy, offload
from beliefd.steward.projections.graph import NEEDLES, graph_rows
from beliefd.steward.projections.rebuilding import all_sessions
from beliefd.steward.write.positions import Positions
from beliefd.stores.base import SessionRow, Store

EVENTS_PER_WRITE = 500
Progress = Callable[[int], None]
"""Called with the number of events that are folded."""


class Exported(Struct, frozen=True):
    """`events` were new to the copy.

    Sessions that could not be brought up to their heads are named with the reason: the copy did not take them
    (`failed`), or their ledger does not hold (`broken`).
    """

    sessions: int
    events: int
    failed: dict[str, str] = {}
    broken: dict[str, str] = {}


class Copy(Protocol):
    """A graph elsewhere that knows how far each ledger is in it."""

    def cursor(self, session_id: str) -> Cursor | None: ...

    def ping(self) -> None:
        """Raises GraphUnavailable if the copy as a whole does not answer."""
        ...

    def write(self, session_id: str, rows: GraphRows, cursor: Cursor) -> None: ...


async def export(store: Store, copy: Copy, progress: Progress = lambda _: None) -> Exported:
    """Bring a copy up to the heads of all ledgers; go on where an earlier export ended, however it ended.

    INVARIANT: a session that cannot be exported stops no other. A copy that does not answer at all stops all.
    """
    sessions = events = seen = 0
    failed: dict[str, str] = {}
    broken: dict[str, str] = {}
    own = await Positions(store).fresh(SYSTEM)
    async for row in all_sessions(store):
        sessions += 1
        foreign = None if own is None else own.session.system.imported.get(row.session_id)
        try:
            async with aclosing(_brought_up(store, copy, row, foreign)) as written:
                async for new, reached in written:
                    events += new
                    progress(seen + reached)
        except LedgerBroken as error:
            broken[row.session_id] = str(error)
        except GraphUnavailable as error:
            await asyncio.to_thread(copy.ping)
            failed[row.session_id] = str(error)
        seen += row.head.seq
    return Exported(sessions, events, failed, broken)


async def _brought_up(
    store: Store, copy: Copy, row: SessionRow, foreign: Foreign | None
) -> AsyncGenerator[tuple[int, int], None]:
    """Write what a copy lacks of one ledger; yields how many events each write brought, and the last one."""
    cursor = await asyncio.to_thread(copy.cursor, row.session_id)
    if cursor == Cursor(seq=row.head.seq, hash=row.head.hash):
        return
    position = await _known(store, row, cursor)
    async for chunk in _rest(store, row, position):
        reached, rows = await offload(is_heavy(chunk), _stepped, chunk, position, foreign)
        place = Cursor(seq=reached.head.seq, hash=reached.head.hash)
        await asyncio.to_thread(copy.write, row.session_id, rows, place)
        position = reached
        yield len(chunk), reached.head.seq


async def _known(store: Store, row: SessionRow, cursor: Cursor | None) -> Position | None:
    """The state where the copy ends. INVARIANT: a copy goes on with the ledger that it began with."""
    if cursor is None:
        return None
    (last,) = await store.entries(row.session_id, cursor.seq - 1, 1) or (None,)
    if last is None or last.hash != cursor.hash:
        raise GraphUnavailable(
            f"the copy has event {cursor.seq} of another ledger `{row.session_id}`; export to a new database"
        )
    return await Positions(store).at(row.session_id, cursor.seq)


async def _rest(store: Store, row: SessionRow, position: Position | None) -> AsyncIterator[list[Sealed]]:
    after = 0 if position is None else position.head.seq
    async for chunk in store.stream(row.session_id, after):
        for start in range(0, len(chunk), EVENTS_PER_WRITE):
            yield chunk[start : start + EVENTS_PER_WRITE]


def _stepped(
    chunk: Sequence[Sealed], position: Position | None, foreign: Foreign | None
) -> tuple[Position, GraphRows]:
    """Fold a chunk, stopping wherever an event changes the graph."""
    parts: list[GraphRows] = []
    pending: list[Sealed] = []
    for sealed in chunk:
        pending.append(sealed)
        if any(needle in sealed.record for needle in NEEDLES) or sealed is chunk[-1]:
            position = fold(pending, position)
            assert position is not None  # noqa: S101 - it was handed an entry
            parts.append(graph_rows(read(sealed.record).delta, position.session, foreign))
            pending = []
    assert position is not None  # noqa: S101 - no chunk is empty
    return position, merged(parts)
