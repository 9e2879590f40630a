"""Group commit: the plain appends of many sessions in one statement, one round trip and one flush to disk.

Heads are locked in the order of their sessions, so that two groups wait for each other in one direction only;
those that stand where they are expected move, and the rest is written for the sessions that moved.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from beliefd.stores.base import Append, HeadMoved, StorageUnavailable
from beliefd.stores.postgres.database import DURABLY, Undone

UNDER_WAY: Final = 2
"""Groups on their way at once: while one waits for the disk, the next is sent."""
MAX_ENTRIES: Final = 512
ENOUGH: Final = 32
"""Appends that are worth a round trip: meanwhile the next can be decided."""
PATIENCE: Final = 0.002

# INVARIANT: events are written only by the statement that moved their session's head from the expected place.
_MOVE: Final = """
WITH held AS (
    SELECT wanted.* FROM unnest(
        $1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::int[]
    ) AS wanted (session_id, seq, event_id, hash, before_seq, before_hash, ends)
    JOIN sessions ON sessions.session_id = wanted.session_id
    ORDER BY sessions.session_id FOR UPDATE OF sessions
), moved AS (
    UPDATE sessions SET head_seq = held.seq, head_event_id = held.event_id, head_hash = held.hash,
        ended = greatest(sessions.ended, held.ends)
    FROM held
    WHERE sessions.session_id = held.session_id
        AND sessions.head_seq = held.before_seq AND sessions.head_hash = held.before_hash AND archived = 0
    RETURNING sessions.session_id
), written AS (
    INSERT INTO audit_events (session_id, seq, event_id, record, hash)
    SELECT entry.* FROM moved JOIN unnest($8::text[], $9::bigint[], $10::text[], $11::text[], $12::text[])
        AS entry (session_id, seq, event_id, record, hash) ON entry.session_id = moved.session_id
)"""
_REST: Final = """, used AS (
    INSERT INTO idempotency (principal, key, request_hash, session_id, seq)
    SELECT use.principal, use.key, use.request_hash, use.session_id, use.seq
    FROM moved JOIN unnest($13::text[], $14::text[], $15::text[], $16::text[], $17::bigint[], $18::text[])
        AS use (principal, key, request_hash, session_id, seq, by) ON use.by = moved.session_id
    ORDER BY use.principal, use.key
), cached AS (
    INSERT INTO snapshots (session_id, seq, state)
    SELECT saved.* FROM moved JOIN unnest($19::text[], $20::bigint[], $21::bytea[])
        AS saved (session_id, seq, state) ON saved.session_id = moved.session_id
    ON CONFLICT (session_id, seq) DO UPDATE SET state = excluded.state
)"""
_ANSWER: Final = f"\nSELECT array_agg(session_id), {DURABLY} FROM moved\n"
GROUP: Final = f"{_MOVE}{_REST}{_ANSWER}"
PLAIN_GROUP: Final = f"{_MOVE}{_ANSWER}"
"""Of appends that use no key and save no state, as almost all do: the rest takes time to set up, also where
nothing is to be written by it."""

_Job = tuple[Append, "asyncio.Future[None]"]


def fits(batch: Append) -> bool:
    """Does it continue a session, and carry nothing that few appends carry?"""
    return (
        batch.expected is not None
        and not batch.policies
        and not batch.projected
        and not batch.rests_on
        and len(batch.entries) <= MAX_ENTRIES
    )


class Groups:
    """Appends that wait for company. Those of one process for one session are never in one group."""

    def __init__(
        self,
        together: Callable[[str, Sequence[object]], Awaitable[list[str]]],
        alone: Callable[[Append], Awaitable[None]],
    ) -> None:
        self._together = together
        """Runs a statement with these parameters, and returns the sessions that moved."""
        self._alone = alone
        self._waiting: deque[_Job] = deque()
        self._gathering = False
        self._under_way: set[asyncio.Task[None]] = set()

    def append(self, batch: Append) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append((batch, done))
        self._line_up(loop)
        return done

    def close(self) -> None:
        """What has not been sent will not be."""
        while self._waiting:
            _, done = self._waiting.popleft()
            _settle(done, StorageUnavailable("nothing was written: the store is closed"))

    def _line_up(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._waiting and not self._gathering and len(self._under_way) < UNDER_WAY:
            self._gathering = True
            loop.call_soon(self._gather, loop, 0, loop.time() + PATIENCE)

    def _gather(self, loop: asyncio.AbstractEventLoop, before: int, until: float) -> None:
        """Wait for company, as long as every turn of the loop brings some."""
        waiting = len(self._waiting)
        if before < waiting < ENOUGH and loop.time() < until:
            loop.call_soon(self._gather, loop, waiting, until)
            return
        self._gathering = False
        if jobs := self._taken():
            task = loop.create_task(self._send(jobs))
            self._under_way.add(task)
            task.add_done_callback(self._sent)
            self._line_up(loop)

    def _sent(self, task: "asyncio.Task[None]") -> None:
        self._under_way.discard(task)
        self._line_up(task.get_loop())

    def _taken(self) -> list[_Job]:
        """Each session once: a second append at its head is for the next group, and finds it moved."""
        taken: dict[str, _Job] = {}
        later: list[_Job] = []
        entries = 0
        while self._waiting and entries < MAX_ENTRIES and len(taken) < ENOUGH:
            job = self._waiting.popleft()
            batch, done = job
            if done.done():
                continue  # nobody waits for it any more, and nothing of it was sent
            if batch.session_id in taken:
                later.append(job)
            else:
                taken[batch.session_id] = job
                entries += len(batch.entries)
        self._waiting.extendleft(reversed(later))
        return list(taken.values())

    async def _send(self, jobs: list[_Job]) -> None:
        if len(jobs) > 1:
            try:
                moved = set(await self._together(*statement([batch for batch, _ in jobs])))
            except Undone:
                pass  # a key is taken, or one of them cannot be written: which, each finds out by itself
            except BaseException as error:
                for _, done in jobs:
                    _settle(done, error)
                if not isinstance(error, Exception):
                    raise
                return
            else:
                for batch, done in jobs:
                    _settle(done, None if batch.session_id in moved else HeadMoved(batch.session_id))
                return
        await asyncio.gather(*(self._one(batch, done) for batch, done in jobs))

    async def _one(self, batch: Append, done: "asyncio.Future[None]") -> None:
        try:
            await self._alone(batch)
        except BaseException as error:
            _settle(done, error)
            if not isinstance(error, Exception):
                raise
        else:
            _settle(done, None)


def _settle(done: "asyncio.Future[None]", outcome: BaseException | None) -> None:
    if done.done():
        return
    if outcome is None:
        done.set_result(None)
    else:
        done.set_exception(outcome)


def statement(batches: Sequence[Append]) -> tuple[str, list[object]]:
    """What writes these, and its parameters."""
    if any(batch.used_keys or batch.saved_state for batch in batches):
        return GROUP, [*_parameters(batches), *_rest(batches)]
    return PLAIN_GROUP, _parameters(batches)


def _parameters(batches: Sequence[Append]) -> list[object]:
    heads = [batch.entries[-1] for batch in batches]
    before = [batch.expected for batch in batches if batch.expected is not None]
    entries = [(batch.session_id, entry) for batch in batches for entry in batch.entries]
    return [
        [batch.session_id for batch in batches],
        [head.seq for head in heads],
        [head.event_id for head in heads],
        [head.hash for head in heads],
        [head.seq for head in before],
        [head.hash for head in before],
        [int(batch.ends) for batch in batches],
        [session_id for session_id, _ in entries],
        [entry.seq for _, entry in entries],
        [entry.event_id for _, entry in entries],
        [entry.record.decode() for _, entry in entries],
        [entry.hash for _, entry in entries],
    ]


def _rest(batches: Sequence[Append]) -> list[object]:
    used = [(batch.session_id, one) for batch in batches for one in batch.used_keys]
    saved = [(batch.session_id, one) for batch in batches if (one := batch.saved_state) is not None]
    return [
        [one.principal for _, one in used],
        [one.key for _, one in used],
        [one.request_hash for _, one in used],
        [one.session_id for _, one in used],
        [one.seq for _, one in used],
        [session_id for session_id, _ in used],
        [session_id for session_id, _ in saved],
        [one.seq for _, one in saved],
        [one.state for _, one in saved],
    ]
