"""The graph built anew: all ledgers folded again, compared with what is stored, replaced where it differs."""

from collections.abc import AsyncIterator, Callable

from msgspec import Struct

from beliefd.knowledge.rows import all_rows
from beliefd.ledger.chain import LedgerBroken
from beliefd.ledger.replay import Position, fold
from beliefd.steward.offload import is_heavy, offload
from beliefd.stores.base import HeadMoved, SessionRow, Store

PAGE = 500
Progress = Callable[[int], None]
"""Called with the number of events that are folded."""


class Rebuilt(Struct, frozen=True):
    """`changed` sessions had another graph stored than their ledger says."""

    sessions: int
    changed: int


async def rebuild(store: Store, progress: Progress = lambda _: None) -> Rebuilt:
    """Raises LedgerBroken for a ledger that does not hold: nothing can be known from it."""
    sessions = changed = events = 0

    def folded(count: int) -> None:
        nonlocal events
        events += count
        progress(events)

    async for row in all_sessions(store):
        changed += await _rebuild_one(store, row.session_id, folded)
        sessions += 1
    return Rebuilt(sessions, changed)


async def _rebuild_one(store: Store, session_id: str, folded: Progress) -> bool:
    position: Position | None = None
    while True:
        start = position
        async for chunk in store.stream(session_id, 0 if position is None else position.head.seq):
            position = await offload(is_heavy(chunk), fold, chunk, position)
            folded(len(chunk))
        if position is None or position is start:
            seq = 0 if position is None else position.head.seq
            raise LedgerBroken(seq + 1, None, "the head of the session is elsewhere than its last entry")
        try:
            return await store.replace_graph(session_id, position.head, all_rows(position.session))
        except HeadMoved:
            continue  # it grew meanwhile, and wrote its rows: go on from where we are


async def all_sessions(store: Store) -> AsyncIterator[SessionRow]:
    after: str | None = None
    while rows := await store.sessions(after, PAGE):
        for row in rows:
            yield row
        after = rows[-1].session_id
