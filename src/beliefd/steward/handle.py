"""The write path: load, decide, seal, append, evolve, answer. There is no other.

Calls to one session queue in its lane. A lane takes all that wait, decides them one after the other on the
newest state and appends them in one transaction at the expected head. If the head has moved (another
process was faster) it loads the difference and decides again. Answers go out only after the commit.
"""

import asyncio
import random
from collections import Counter
from functools import partial
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.commands import Command, DeclareSession
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.ledger.chain import LedgerBroken, policy_hash, read
from beliefd.ledger.replay import Position
from beliefd.steward.lookout import NOTHING_ASIDE, Aside, Detector, Lookout
from beliefd.steward.outside import Outside
from beliefd.steward.positions import Positions
from beliefd.steward.runner import Runner
from beliefd.steward.turn import ANY_HEAD, Outcome, Turn, Waiting, refusal
from beliefd.stores.base import HeadMoved, Remembered, StorageUnavailable, Store
from beliefd.tools.biscuit import Signer
from beliefd.tools.registry import Registry, default_registry
from beliefd.uncertainty.equivalence.judges import Judges

__all__ = ["Outcome", "Steward", "ledger_broken", "refusal"]

LANE_BATCH: Final = 512
MAX_ATTEMPTS: Final = 200


class _Lane(Struct):
    """Calls that wait for their turn on one session, and what is under way; gone when it is empty."""

    session_id: str
    calls: list[Waiting]
    work: "asyncio.Future[Any] | None" = None


class Steward:
    """INVARIANT: every event in every ledger went through a `Turn`, and `decide` allowed or refused it."""

    def __init__(  # noqa: PLR0913 - one argument a port
        self,
        store: Store,
        policy: Policy | None = None,
        outside: Outside | None = None,
        detector: Detector | None = None,
        registry: Registry | None = None,
        signer: Signer | None = None,
        *,
        runner: Runner | None = None,
        judges: Judges | None = None,
    ) -> None:
        self.store = store
        self.registry = registry or default_registry
        self.signer = signer
        self.judges = judges or Judges()
        self.lookout = Lookout(store, self.registry, detector)
        self.positions = Positions(store)
        self.outside = outside or Outside()
        self.adopt(policy or Policy())
        self.stored_policies: set[str] = set()
        self.decided: Counter[tuple[str, str]] = Counter()
        self.retries = 0
        self._lanes: dict[str, _Lane] = {}
        self._ready: list[_Lane] = []
        self.effects: set[asyncio.Task[Any]] = set()
        self.runner = runner or Runner()
        self.feeds: set[asyncio.Event] = set()
        self.feeds_ended = False

    def adopt(self, policy: Policy) -> None:
        """Decide under `policy` from the next command on. One assignment each: no command sees half of it."""
        self.policy = policy
        self.policy_hash = policy_hash(policy)

    def submit(
        self,
        session_id: str,
        command: Command,
        principal: Principal,
        *,
        if_match: str | None = None,
        key: str | None = None,
        aside: Aside = NOTHING_ASIDE,
    ) -> "asyncio.Future[Outcome]":
        """Queue a command; calls submitted in order are decided in order."""
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        call = Waiting(session_id, command, principal, if_match, key, aside, done)
        lane = self._lanes.get(session_id)
        if lane is not None:
            lane.calls.append(call)
        else:
            lane = self._lanes[session_id] = _Lane(session_id, [call])
            self._line_up(lane)
        return done

    async def declare(
        self, command: DeclareSession, principal: Principal, *, key: str | None = None
    ) -> Outcome:
        return await self.submit(self.outside.new_id(), command, principal, key=key)

    def end_feeds(self) -> None:
        """Wake every live feed for the last time: a server that stops must not wait for its listeners."""
        self.feeds_ended = True
        for grown in self.feeds:
            grown.set()

    async def close(self, patience: float | None = None) -> None:
        """Let what was accepted finish, but wait no longer than told for a hanging store; then close it."""
        self.runner.cancel_all()
        try:
            async with asyncio.timeout(patience):
                while self._lanes or self.effects:
                    under_way = [lane.work for lane in self._lanes.values() if lane.work is not None]
                    if under_way or self.effects:
                        await asyncio.wait([*self.effects, *under_way])
                    await asyncio.sleep(0)  # what has ended is answered, what waits has its turn
        except TimeoutError:
            for lane in self._lanes.values():
                if lane.work is not None:
                    lane.work.cancel()
        await self.runner.close()
        await asyncio.to_thread(self.judges.close)
        await self.store.close()

    # -- lanes -------------------------------------------------------------------------------------

    def _line_up(self, lane: _Lane) -> None:
        """The lane has its turn when the event loop comes round: until then more may come to wait in it."""
        if not self._ready:
            asyncio.get_running_loop().call_soon(self._take_turns)
        self._ready.append(lane)

    def _take_turns(self) -> None:
        ready, self._ready = self._ready, []
        for lane in ready:
            position = self.positions.cached(lane.session_id)
            if position is not None and all(call.is_plain for call in lane.calls):
                self._take_turn(lane, position)
            else:
                lane.work = asyncio.ensure_future(self._drain(lane))

    def _take_turn(self, lane: _Lane, position: Position) -> None:
        """Nothing has to be waited for but the store: no task is needed for that."""
        calls = _next_of(lane)
        turn = Turn(self, lane.session_id, position)
        try:
            for call in calls:
                turn.take_now(call)
            if turn.entries:
                lane.work = asyncio.ensure_future(turn.write())
                lane.work.add_done_callback(partial(self._appended, lane, calls, turn))
                return
            turn.answer()
        except Exception as error:  # a defect must not leave callers waiting for ever
            _fail(calls, _told(error))
        self._go_on(lane)

    def _appended(self, lane: _Lane, calls: list[Waiting], turn: Turn, work: "asyncio.Future[None]") -> None:
        error = asyncio.CancelledError() if work.cancelled() else work.exception()
        if error is None:
            turn.answer()
        elif isinstance(error, HeadMoved):
            lane.calls[:0] = calls
            lane.work = asyncio.ensure_future(self._drain(lane, error))
            return
        else:
            _fail(calls, _told(error))
        self._go_on(lane)

    def _go_on(self, lane: _Lane) -> None:
        if lane.calls:
            self._line_up(lane)
        else:
            del self._lanes[lane.session_id]

    async def _drain(self, lane: _Lane, lost: HeadMoved | None = None) -> None:
        """The same for calls that have to wait for more: a task takes all that come while it is there."""
        try:
            while calls := _next_of(lane):
                try:
                    await self._settle(lane.session_id, calls, lost)
                except BaseException as error:  # a defect must not leave callers waiting for ever
                    _fail(calls, error)
                    if not isinstance(error, Exception):
                        _fail(lane.calls, error)
                        raise
                lost = None
        finally:
            del self._lanes[lane.session_id]

    async def _settle(self, session_id: str, calls: list[Waiting], lost: HeadMoved | None) -> None:
        for attempt in range(MAX_ATTEMPTS):
            try:
                if attempt == 0 and lost is not None:
                    raise lost
                await self._process(session_id, calls)
                return
            except HeadMoved:
                self.retries += 1
                self.stored_policies.clear()  # if a backup was restored under us, they may be gone
                # Losing once is news; losing often means contention, and a little chance keeps it fair.
                await asyncio.sleep(random.uniform(0, 0.002) * min(attempt, 10))  # noqa: S311
                await self.positions.reload(session_id)
            except (StorageUnavailable, LedgerBroken) as error:
                _fail(calls, _told(error))
                return
        _fail(calls, BeliefdError(Code.CONFLICT, "too many writers on this session; try again"))

    async def _process(self, session_id: str, calls: list[Waiting]) -> None:
        turn = Turn(self, session_id, await self._position(session_id, calls))
        for call in calls:
            await turn.take(call)
        if turn.entries:
            await turn.write()
        turn.answer()

    async def _position(self, session_id: str, calls: list[Waiting]) -> Position | None:
        """Where to decide from. The cache may be old: an append finds that out, If-Match must ask before."""
        if any(call.if_match not in ANY_HEAD for call in calls):
            return await self.positions.fresh(session_id)
        return self.positions.cached(session_id) or await self.positions.reload(session_id)

    async def recall(self, used: Remembered) -> Outcome:
        """The answer a remembered request got: a function of its entry and the state after it."""
        position = await self.positions.at(used.session_id, used.seq)
        entries = await self.store.entries(used.session_id, used.seq - 1, 1)
        if position is None or not entries:
            raise LedgerBroken(used.seq, None, "a remembered request points at an event that is not there")
        return Outcome(read(entries[0].record).delta, position.session, position.head, repeated=True)


def _next_of(lane: _Lane) -> list[Waiting]:
    calls = lane.calls[:LANE_BATCH]
    del lane.calls[:LANE_BATCH]
    return calls


def _told(error: BaseException) -> BaseException:
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


def _fail(calls: list[Waiting], error: BaseException) -> None:
    for call in calls:
        if not call.done.done():
            call.done.set_exception(error)
