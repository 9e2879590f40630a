"""SessionQueues: calls to one session are decided one after the other, and written in that order.

A lane takes all that wait and appends them in one transaction at the expected head. Where the store keeps
the order of appends, the next turn is decided on the head that the last one will leave, while that one is
still on its way to the disk. Nobody is told before the commit; if a turn is lost, those behind it expect a
head that never came, are lost with it, and are decided again in the same order.
"""

import asyncio
import random
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.chain import LedgerBroken
from beliefd.ledger.replay import Position
from beliefd.steward.write.turn import ANY_HEAD, QueuedCommand, Turn
from beliefd.stores.base import HeadMoved, StorageUnavailable

if TYPE_CHECKING:
    from beliefd.steward.write.steward import Steward

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
    """All lanes that hold something."""

    def __init__(self, steward: "Steward") -> None:
        self._steward = steward
        self._under_way = UNDER_WAY if steward.store.keeps_order else 1
        self._lanes: dict[str, SessionQueue] = {}
        self._ready: list[SessionQueue] = []
        self._waiting = 0

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def queue(self, call: QueuedCommand) -> None:
        lane = self._lanes.get(call.session_id)
        if lane is None:
            lane = self._lanes[call.session_id] = SessionQueue(call.session_id)
        lane.calls.append(call)
        self._line_up(lane)
        if lane.lined_up:
            self._waiting += 1
            if self._waiting >= AT_ONCE:
                self._take_turns()

    async def empty(self) -> None:
        """Until nothing is under way, and nothing waits."""
        while self._lanes:
            if work := [one for lane in self._lanes.values() for one in lane.work]:
                await asyncio.wait(work)
            await asyncio.sleep(0)  # what has ended is answered, what waits has its turn

    def cancel(self) -> None:
        for lane in self._lanes.values():
            for one in lane.work:
                one.cancel()

    def _line_up(self, lane: SessionQueue) -> None:
        """The lane has its turn when the event loop comes round: until then more may come to wait in it."""
        if lane.lined_up or lane.task is not None or lane.halted or len(lane.turns) >= self._under_way:
            return
        lane.lined_up = True
        if not self._ready:
            asyncio.get_running_loop().call_soon(self._take_turns)
        self._ready.append(lane)

    def _take_turns(self) -> None:
        ready, self._ready, self._waiting = self._ready, [], 0
        for lane in ready:
            lane.lined_up = False
            if lane.halted or lane.task is not None:
                continue  # since it lined up a turn was lost: its calls wait for the rest, or are in hand
            position = lane.tip if lane.turns else self._steward.positions.cached(lane.session_id)
            if position is not None and all(call.is_plain for call in lane.calls):
                self._take_turn(lane, position)
            elif not lane.turns:
                lane.task = asyncio.ensure_future(self._drain(lane))

    def _take_turn(self, lane: SessionQueue, position: Position) -> None:
        """Nothing has to be waited for but the store: no task is needed for that."""
        calls = lane.next_calls()
        turn = Turn(self._steward, lane.session_id, position)
        try:
            for call in calls:
                turn.take_now(call)
            if turn.entries:
                work = asyncio.ensure_future(turn.write())
                lane.turns.append(work)
                lane.tip = turn.position
                work.add_done_callback(partial(self._appended, lane, calls, turn))
            else:
                turn.answer()
        except Exception as error:  # a defect must not leave callers waiting for ever
            fail(calls, told(error))
        self._go_on(lane)

    def _appended(
        self, lane: SessionQueue, calls: list[QueuedCommand], turn: Turn, work: "asyncio.Future[None]"
    ) -> None:
        lane.turns.remove(work)
        error = asyncio.CancelledError() if work.cancelled() else work.exception()
        if error is None:
            turn.answer()
        else:
            lane.halted = True
            if isinstance(error, HeadMoved):
                lane.again += calls
            else:
                fail(calls, told(error))
        if not lane.turns:
            lane.halted, lane.tip = False, None
            if lane.again:
                lane.calls[:0], lane.again = lane.again, []
                lane.task = asyncio.ensure_future(self._drain(lane, lost=True))
                return
        self._go_on(lane)

    def _go_on(self, lane: SessionQueue) -> None:
        if lane.calls:
            self._line_up(lane)
        elif not lane.turns:
            del self._lanes[lane.session_id]

    async def _drain(self, lane: SessionQueue, *, lost: bool = False) -> None:
        """The same for calls that have to wait for more: a task takes all that come while it is there."""
        try:
            while calls := lane.next_calls():
                try:
                    await self._settle(lane.session_id, calls, lost=lost)
                except BaseException as error:  # a defect must not leave callers waiting for ever
                    fail(calls, error)
                    if not isinstance(error, Exception):
                        fail(lane.calls, error)
                        raise
                lost = False
        finally:
            del self._lanes[lane.session_id]

    async def _settle(self, session_id: str, calls: list[QueuedCommand], *, lost: bool) -> None:
        for attempt in range(MAX_ATTEMPTS):
            try:
                if attempt == 0 and lost:
                    raise HeadMoved(session_id)
                await self._process(session_id, calls)
                return
            except HeadMoved:
                steward = self._steward
                steward.retries += 1
                steward.stored_policies.clear()  # if a backup was restored under us, they may be gone
                # Losing once is news; losing often means contention, and a little chance keeps it fair.
                await asyncio.sleep(random.uniform(0, 0.002) * min(attempt, 10))  # noqa: S311
                await steward.positions.reload(session_id)
            except (StorageUnavailable, LedgerBroken) as error:
                fail(calls, told(error))
                return
        fail(calls, BeliefdError(Code.CONFLICT, "too many writers on this session; try again"))

    async def _process(self, session_id: str, calls: list[QueuedCommand]) -> None:
        turn = Turn(self._steward, session_id, await self._position(session_id, calls))
        for call in calls:
            await turn.take(call)
        if turn.entries:
            await turn.write()
        turn.answer()

    async def _position(self, session_id: str, calls: list[QueuedCommand]) -> Position | None:
        """Where to decide from. The cache may be old: an append finds that out, If-Match must ask before."""
        positions = self._steward.positions
        if any(call.if_match not in ANY_HEAD for call in calls):
            return await positions.fresh(session_id)
        return positions.cached(session_id) or await positions.reload(session_id)


def told(error: BaseException) -> BaseException:
    """What callers are told of a failure of the store."""
    if isinstance(error, StorageUnavailable):
        return BeliefdError(Code.STORAGE_UNAVAILABLE, str(error))
    return ledger_broken(error) if isinstance(error, LedgerBroken) else error


def ledger_broken(error: LedgerBroken) -> BeliefdError:
    return BeliefdError(
        Code.LEDGER_BROKEN,
        f"the stored ledger does not verify: {error}",
        {"seq": error.seq, "event_id": error.event_id, "reason": error.reason},
    )


def fail(calls: list[QueuedCommand], error: BaseException) -> None:
    for call in calls:
        if not call.done.done():
            call.done.set_exception(error)
