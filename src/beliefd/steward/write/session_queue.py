"""One queue per session: its commands are decided one after the other, and written in that order.

A turn takes all that wait and appends them in one transaction at the expected head. Where the store keeps
the order of appends, the next turn is decided on the head that the last one will leave, while that one is
still on its way to the disk. Nobody is told before the commit; if a turn is lost, those behind it expect a
head that never came, are lost with it, and are decided again in the same order.
"""

import asyncio
import random
from collections import deque
from functools import partial
from typing import Any, Final

from beliefd.ledger.envelope import LedgerBroken
from beliefd.ledger.replay import Position
from beliefd.steward.failures import too_many_writers, translated
from beliefd.steward.write.ports import Ports
from beliefd.steward.write.queued import ANY_HEAD, QueuedCommand
from beliefd.steward.write.room import SHARES
from beliefd.steward.write.turn import Turn
from beliefd.steward.write.withholding import may_withhold
from beliefd.stores.base import HeadMoved, StorageUnavailable

BATCH: Final = 512
AT_ONCE: Final = 32
"""So many calls are not kept waiting for more: while they are written, the event loop can read on."""
UNDER_WAY: Final = 4
"""Turns of one session that may be on their way to the disk at once."""
MAX_ATTEMPTS: Final = 200


class SessionQueue:
    """Calls that wait for their turn on one session, and what is under way; gone when it is empty."""

    __slots__ = ("again", "calls", "halted", "lined_up", "session_id", "task", "tip", "turns")

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.calls: list[QueuedCommand] = []
        self.turns: deque[asyncio.Future[None]] = deque()
        self.tip: Position | None = None
        """Where the session stands once all turns are written."""
        self.again: list[QueuedCommand] = []
        self.halted = False
        self.task: asyncio.Task[None] | None = None
        self.lined_up = False

    @property
    def work(self) -> "list[asyncio.Future[Any]]":
        return [*self.turns, *([] if self.task is None else [self.task])]

    def next_calls(self) -> list[QueuedCommand]:
        calls = self.calls[:BATCH]
        del self.calls[:BATCH]
        return calls


class SessionQueues:
    """All queues that hold something, one per session."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._under_way = UNDER_WAY if ports.store.keeps_order else 1
        self._queues: dict[str, SessionQueue] = {}
        self._ready: list[SessionQueue] = []
        self._waiting = 0

    def __bool__(self) -> bool:
        return bool(self._queues)

    def add(self, call: QueuedCommand) -> None:
        queue = self._queues.get(call.session_id)
        if queue is None:
            queue = self._queues[call.session_id] = SessionQueue(call.session_id)
        queue.calls.append(call)
        self._line_up(queue)
        if queue.lined_up:
            self._waiting += 1
            if self._waiting >= AT_ONCE:
                self._take_turns()

    async def empty(self) -> None:
        """Until nothing is under way, and nothing waits."""
        while self._queues:
            if work := [one for queue in self._queues.values() for one in queue.work]:
                await asyncio.wait(work)
            await asyncio.sleep(0)  # what has ended is answered, what waits has its turn

    def cancel(self) -> None:
        for queue in self._queues.values():
            for one in queue.work:
                one.cancel()

    def _line_up(self, queue: SessionQueue) -> None:
        """The queue has its turn when the event loop comes round: until then more may come to wait in it."""
        if queue.lined_up or queue.task is not None or queue.halted or len(queue.turns) >= self._under_way:
            return
        queue.lined_up = True
        if not self._ready:
            asyncio.get_running_loop().call_soon(self._take_turns)
        self._ready.append(queue)

    def _take_turns(self) -> None:
        ready, self._ready, self._waiting = self._ready, [], 0
        ports, room = self._ports, self._ports.limit // SHARES
        positions, broken = ports.positions, ports.positions.chains.broken
        for queue in ready:
            queue.lined_up = False
            if queue.halted or queue.task is not None:
                continue  # since it lined up a turn was lost: its calls wait for the rest, or are in hand
            position = queue.tip if queue.turns else positions.cached(queue.session_id)
            if position is None or queue.session_id in broken or not self._is_plain(queue, position, room):
                if not queue.turns:
                    queue.task = asyncio.ensure_future(self._drain(queue))
            else:
                self._take_turn(queue, position)

    def _is_plain(self, queue: SessionQueue, position: Position, room: int) -> bool:
        """Can all that waits be decided on this state now? A state that may come to more than `room` bytes
        has to be weighed first."""
        policy, size = self._ports.in_force.policy, self._ports.positions.sizes.of(queue.session_id)
        bytes_ = 0 if size is None else size.bytes
        for call in queue.calls:
            if not call.is_plain or may_withhold(policy, call.command):
                return False
            bytes_ += call.attachments.size
        return bytes_ <= room and not _is_sealed(position)

    def _take_turn(self, queue: SessionQueue, position: Position) -> None:
        """Nothing has to be waited for but the store: no task is needed for that."""
        calls = queue.next_calls()
        turn = Turn(self._ports, queue.session_id, position)
        try:
            for call in calls:
                if turn.admits(call):
                    turn.take_now(call)
            if turn.entries:
                work = asyncio.ensure_future(turn.write())
                queue.turns.append(work)
                queue.tip = turn.position
                work.add_done_callback(partial(self._on_appended, queue, calls, turn))
            else:
                turn.answer()
        except Exception as error:  # a defect must not leave callers waiting for ever
            fail(calls, translated(error))
        self._go_on(queue)

    def _on_appended(
        self, queue: SessionQueue, calls: list[QueuedCommand], turn: Turn, work: "asyncio.Future[None]"
    ) -> None:
        queue.turns.remove(work)
        error = asyncio.CancelledError() if work.cancelled() else work.exception()
        if error is None:
            turn.answer()
        else:
            queue.halted = True
            if isinstance(error, HeadMoved):
                queue.again += calls
            else:
                fail(calls, translated(error))
        if not queue.turns:
            queue.halted, queue.tip = False, None
            if queue.again:
                queue.calls[:0], queue.again = queue.again, []
                queue.task = asyncio.ensure_future(self._drain(queue, lost=True))
                return
        self._go_on(queue)

    def _go_on(self, queue: SessionQueue) -> None:
        if queue.calls:
            self._line_up(queue)
        elif not queue.turns:
            del self._queues[queue.session_id]

    async def _drain(self, queue: SessionQueue, *, lost: bool = False) -> None:
        """The same for calls that have to wait for more: a task takes all that come while it is there."""
        try:
            while calls := queue.next_calls():
                try:
                    await self._settle(queue.session_id, calls, lost=lost)
                except BaseException as error:  # a defect must not leave callers waiting for ever
                    fail(calls, error)
                    if not isinstance(error, Exception):
                        fail(queue.calls, error)
                        raise
                lost = False
        finally:
            del self._queues[queue.session_id]

    async def _settle(self, session_id: str, calls: list[QueuedCommand], *, lost: bool) -> None:
        for attempt in range(MAX_ATTEMPTS):
            try:
                if attempt == 0 and lost:
                    raise HeadMoved(session_id)
                await self._process(session_id, calls)
                return
            except HeadMoved:
                self._ports.counts.retries += 1
                self._ports.stored_policies.clear()  # if a backup was restored under us, they may be gone
                # Losing once is news; losing often means contention, and a little chance keeps it fair.
                await asyncio.sleep(random.uniform(0, 0.002) * min(attempt, 10))  # noqa: S311
                await self._ports.positions.reload(session_id)
            except (StorageUnavailable, LedgerBroken) as error:
                fail(calls, translated(error))
                return
        fail(calls, too_many_writers())

    async def _process(self, session_id: str, calls: list[QueuedCommand]) -> None:
        turn = Turn(self._ports, session_id, await self._position(session_id, calls))
        for call in calls:
            await turn.take(call)
        if turn.entries:
            await turn.write()
        turn.answer()

    async def _position(self, session_id: str, calls: list[QueuedCommand]) -> Position | None:
        """Where to decide from. The cache may be old: an append finds that out. If-Match must ask before, and
        so must what is not appended: a seal may have been taken away elsewhere."""
        positions = self._ports.positions
        known = positions.cached(session_id)
        if any(call.if_match not in ANY_HEAD for call in calls) or _is_sealed(known):
            return await positions.fresh(session_id)
        return known or await positions.reload(session_id)


def _is_sealed(position: Position | None) -> bool:
    return position is not None and position.session.transfers.seal is not None


def fail(calls: list[QueuedCommand], error: BaseException) -> None:
    for call in calls:
        if not call.done.done():
            call.done.set_exception(error)
