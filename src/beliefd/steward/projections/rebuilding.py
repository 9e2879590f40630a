"""Projections compared with the ledgers they come from, and built anew, while others go on writing."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from beliefd.ledger.envelope import LedgerBroken
from beliefd.ledger.replay import Position, fold
from beliefd.steward.offload import is_heavy, offload
from beliefd.steward.projections import PROJECTIONS, Projection
from beliefd.stores.base import HeadMoved, SessionRow, Store
from beliefd.stores.projections import InboxRow, Row

PAGE: Final = 500
Progress = Callable[[int], None]
"""Called with the number of events that were folded since the last call."""


class Difference(Struct, frozen=True):
    """A row that is otherwise than the ledger of its session says."""

    projection: str
    session_id: str
    row: tuple[str, ...]
    problem: Literal["missing", "changed", "extra"]


async def all_sessions(store: Store) -> AsyncIterator[SessionRow]:
    after: str | None = None
    while rows := await store.sessions(after, PAGE):
        for row in rows:
            yield row
        after = rows[-1].session_id


async def differences(
    store: Store,
    session_id: str,
    projections: Sequence[Projection] = PROJECTIONS,
    progress: Progress = lambda _: None,
) -> list[Difference]:
    """Raises LedgerBroken for a ledger that does not hold: nothing can be known from it."""
    position: Position | None = None
    while True:
        position = await _folded(store, session_id, position, progress)
        stored = {one.name: await store.projected(one.name, session_id) for one in projections}
        # Heads only move forward: rows that were read between two equal heads belong to that head.
        if await store.head(session_id) == position.head:
            break
    return [
        found
        for one in projections
        for found in _compared(one.name, session_id, one.all_rows(position.session), stored[one.name])
    ]


async def stray_differences(
    store: Store, projections: Sequence[Projection] = PROJECTIONS
) -> list[Difference]:
    """Rows of sessions that have no ledger at all."""
    return [
        found
        for one in projections
        for session_id in await store.strays(one.name)
        for found in _compared(one.name, session_id, (), await store.projected(one.name, session_id))
    ]


async def rebuild(
    store: Store,
    session_id: str,
    projections: Sequence[Projection] = PROJECTIONS,
    progress: Progress = lambda _: None,
) -> list[str]:
    """Make the rows of a session what its ledger says; returns the projections in which they were not.

    Raises LedgerBroken for a ledger that does not hold.
    """
    waiting, changed = list(projections), []
    position: Position | None = None
    while waiting:
        position = await _folded(store, session_id, position, progress)
        try:
            while waiting:
                one = waiting[0]
                rows = one.all_rows(position.session)
                if await store.replace_projection(session_id, position.head, one.name, rows):
                    changed.append(one.name)
                waiting.pop(0)
        except HeadMoved:
            continue  # it grew meanwhile, and wrote its rows: go on from where we are
    return changed


async def remove_strays(store: Store, projections: Sequence[Projection] = PROJECTIONS) -> list[str]:
    """Remove the rows of sessions that have no ledger; returns the projections, once per such session."""
    removed: list[str] = []
    for one in projections:
        for session_id in await store.strays(one.name):
            try:
                await store.replace_projection(session_id, None, one.name, ())
            except HeadMoved:
                continue  # it has come into being, with its own rows
            removed.append(one.name)
    return removed


async def _folded(store: Store, session_id: str, start: Position | None, progress: Progress) -> Position:
    """Fold on from `start` to the end of the ledger, where there must be something new."""
    position = start
    async for chunk in store.stream(session_id, 0 if start is None else start.head.seq):
        position = await offload(is_heavy(chunk), fold, chunk, position)
        progress(len(chunk))
    if position is None or position is start:
        seq = 0 if position is None else position.head.seq
        raise LedgerBroken(seq + 1, None, "the head of the session is elsewhere than its last entry")
    return position


def _compared(name: str, session_id: str, due: Iterable[Row], stored: set[Row]) -> list[Difference]:
    """What has to be done to `stored` to make it what is due, by key."""
    wanted, found = {row.key: row for row in due}, {row.key: row for row in stored}
    return [
        Difference(name, session_id, key, problem)
        for key in sorted(wanted.keys() | found.keys())
        for problem in (_problem(wanted.get(key), found.get(key)),)
        if problem is not None
    ]


def _problem(due: Row | None, stored: Row | None) -> Literal["missing", "changed", "extra"] | None:
    if due == stored or _is_from_before(due, stored):
        return None
    return "missing" if stored is None else "extra" if due is None else "changed"


def _is_from_before(due: Row | None, stored: Row | None) -> bool:
    """Rows of an earlier schema do not say because of whom they are there, and say all else."""
    if not isinstance(due, InboxRow) or not isinstance(stored, InboxRow) or stored.principal is not None:
        return False
    return replace(due, principal=None) == stored
