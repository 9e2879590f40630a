"""The graph as far as it is believed: its rows say where to look, and the ledgers what is there.

INVARIANT: nothing is given out or built upon because a row says it. What is handed out comes from a state
that was folded from a checked chain. Of an archived session no state is at hand: its rows are as they were
left.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec
from msgspec import Struct

from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.transfers.folds import as_one_counts
from beliefd.kernel.transfers.state import Foreign
from beliefd.knowledge.graph import NodeRow
from beliefd.ledger.envelope import UNREADABLE, LedgerBroken
from beliefd.ledger.replay import Position
from beliefd.steward.projections.graph import Artifact, artifact_of, read_artifact, says_so
from beliefd.stores.archives import Archived, SessionArchived
from beliefd.stores.base import Store
from beliefd.stores.within import Within

EVERY: Final = 2**62
LOOKS: Final = 8
"""How often a row is compared again that does not fit, while its session goes on growing."""
Held = list[tuple[str, Any]]
"""Artifacts, each with the session that it is in."""
Rows = Sequence[NodeRow]
ASTRAY: Final = (
    "a row of the graph is not what the ledger says; `beliefd projection rebuild graph` makes it anew"
)


class Doubts(Struct):
    """What came up while rows were compared: sessions whose rows or ledgers do not hold, those that are
    archived, and those that began elsewhere. It is that of one answer."""

    broken: dict[str, LedgerBroken] = msgspec.field(default_factory=dict)
    archived: dict[str, Archived] = msgspec.field(default_factory=dict)
    foreign: dict[str, Foreign] = msgspec.field(default_factory=dict)


class Graph(Struct, frozen=True):
    """Rows of the graph, compared with the ledgers that they come from."""

    store: Store
    existing: Callable[[str], Awaitable[Position]]
    """Where a session stands, after its chain was checked."""

    async def believed(
        self, kind: str, claim_ids: Sequence[str], within: Within, doubts: Doubts, limit: int = EVERY
    ) -> Held:
        """What rows say and ledgers confirm, as it counts here. A row that is otherwise is skipped, and its
        session is named."""

        async def read() -> Rows:
            return await self.store.nodes(kind, claim_ids, limit, within)

        held: Held = []
        for session_id, rows in _by_session(await read()):
            position = await self._position(session_id, doubts)
            if position is None:
                held += _as_left(session_id, rows, doubts)
                continue
            if position.foreign is not None:
                doubts.foreign[session_id] = position.foreign
            found = await self._compared(position, rows, read, doubts)
            held += [(session_id, as_one_counts(one, position.due)) for one in found]
        return held

    async def said(
        self,
        kind: str,
        claim_ids: Sequence[str],
        limit: int,
        within: Within = None,
        but: str | None = None,
        worth: Callable[[NodeRow], bool] = lambda _: True,
    ) -> Held:
        """What ledgers say where rows are, whatever those say: for a decision in the session `but`. Only rows
        that are `worth` it are looked up. INVARIANT: neither a damaged row nor a
        broken ledger stops what is decided elsewhere.
        """
        held: Held = []
        doubts = Doubts()
        rows = await self.store.nodes(kind, claim_ids, limit, within)
        for session_id, mine in _by_session(row for row in rows if row.session_id != but and worth(row)):
            position = await self._position(session_id, doubts)
            if position is None:
                held += _as_left(session_id, mine, doubts)
                continue
            found = (artifact_of(position.session, kind, row.id) for row in mine)
            held += [(session_id, one) for one in found if one is not None]
        return held

    async def _position(self, session_id: str, doubts: Doubts) -> Position | None:
        if session_id in doubts.broken or session_id in doubts.archived:
            return None
        try:
            return await self.existing(session_id)
        except SessionArchived as error:
            doubts.archived[session_id] = error.stub
        except LedgerBroken as error:
            doubts.broken[session_id] = error
        except BeliefdError as error:  # a row of no session at all
            doubts.broken[session_id] = _doubted(error.message)
        return None

    async def _compared(
        self, position: Position, rows: Rows, read: Callable[[], Awaitable[Rows]], doubts: Doubts
    ) -> list[Artifact]:
        """INVARIANT: heads only move forward, so rows that were read between two equal heads belong to that
        head. Whoever is overtaken by a session that grows looks again."""
        name, settled = position.session.session_id, False
        for _ in range(LOOKS):
            found = [(row, artifact_of(position.session, row.kind, row.id)) for row in rows]
            fitting = [one for row, one in found if one is not None and says_so(position.session, one, row)]
            if settled or len(fitting) == len(rows):
                break
            rows = [row for row in await read() if row.session_id == name]
            again = await self._position(name, doubts)
            if again is None:
                return []
            position, settled = again, again.head == position.head
        if len(fitting) < len(rows):
            doubts.broken[name] = _doubted(ASTRAY)
        return fitting


def _by_session(rows: Iterable[NodeRow]) -> list[tuple[str, list[NodeRow]]]:
    ordered = sorted(rows, key=lambda row: row.session_id)
    return [(name, list(mine)) for name, mine in groupby(ordered, key=lambda row: row.session_id)]


def _as_left(session_id: str, rows: Rows, doubts: Doubts) -> Held:
    """Of an archived session, what can be read of its rows; of others that have no state here, nothing."""
    found: Held = []
    if session_id not in doubts.archived:
        return found
    for row in rows:
        try:
            found.append((session_id, read_artifact(row)))
        except UNREADABLE as error:
            doubts.broken[session_id] = _doubted(f"a row of the graph cannot be read: {error}")
    return found


def _doubted(reason: str) -> LedgerBroken:
    return LedgerBroken(0, None, reason)
