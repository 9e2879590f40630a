"""The write path: load, decide, seal, append, evolve, answer. There is no other.

Calls to one session queue in its lane. A lane takes all that wait, decides them one after the other on the
newest state and appends them in one transaction at the expected head. If the head has moved (another
process was faster) it loads the difference and decides again. Answers go out only after the commit.
"""

import asyncio
import random
from collections import Counter
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.canonical import NotCanonical, canonical, digest
from beliefd.kernel.commands import Command, DeclareSession, Eliminate, Head, Merge, verb_of
from beliefd.kernel.decide import decide
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.events import Event, Refused
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.facts import Facts, Findings
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.values import Principal
from beliefd.knowledge.graph import NOTHING, GraphRows, merged
from beliefd.knowledge.rows import graph_rows
from beliefd.ledger.chain import (
    LedgerBroken,
    Sealed,
    head_of,
    payload_of,
    policy_hash,
    read,
    seal,
    state_hash_due,
)
from beliefd.ledger.replay import Position
from beliefd.steward.inbox import inbox_rows
from beliefd.steward.lookout import EXAMINED, NOTHING_ASIDE, Aside, Detector, Lookout
from beliefd.steward.offload import HEAVY_ITEMS
from beliefd.steward.outside import Outside
from beliefd.steward.positions import Positions, pack, session_not_found
from beliefd.steward.runner import Runner
from beliefd.stores.base import Append, HeadMoved, InboxRow, Remembered, Snapshot, StorageUnavailable, Store
from beliefd.tools.biscuit import Signer
from beliefd.tools.registry import Registry, default_registry
from beliefd.uncertainty.equivalence.judges import Judges

LANE_BATCH: Final = 512
MAX_ATTEMPTS: Final = 200


class Outcome(Struct, frozen=True):
    """What became of a command: the event, and the state and place right after it.

    `repeated` tells an answer that was given before: what it let happen has happened, or is under way.
    """

    event: Event
    session: Session
    head: Head
    repeated: bool = False


class _Call(Struct):
    session_id: str
    command: Command
    principal: Principal
    if_match: str | None
    key: str | None
    aside: Aside
    done: "asyncio.Future[Outcome]"
    recent: int | None = None

    @property
    def request_hash(self) -> str:
        # A declaration has no session yet: its id is new on every try and must not tell tries apart.
        scope = None if isinstance(self.command, DeclareSession) else self.session_id
        return digest({"session": scope, "verb": verb_of(self.command), "payload": payload_of(self.command)})


class _Lane(Struct):
    """Calls that wait for their turn on one session, and the task that takes them; gone when it is empty."""

    calls: list[_Call]
    task: "asyncio.Task[None] | None" = None


class Steward:
    """INVARIANT: every event in every ledger went through `_process`, and `decide` allowed or refused it."""

    def __init__(  # noqa: PLR0913 - one argument a port
        self,
        store: Store,
        policy: Policy | None = None,
        outside: Outside | None = None,
        detector: Detector | None = None,
        registry: Registry | None = None,
        signer: Signer | None = None,
        *,
        workers: int = 0,
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
        self.effects: set[asyncio.Task[Any]] = set()
        self.runner = Runner(workers)
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
        loop = asyncio.get_running_loop()
        call = _Call(session_id, command, principal, if_match, key, aside, loop.create_future())
        lane = self._lanes.get(session_id)
        if lane is not None:
            lane.calls.append(call)
        else:
            lane = self._lanes[session_id] = _Lane([call])
            lane.task = loop.create_task(self._drain(session_id, lane.calls))
        return call.done

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
                while tasks := [*self.effects, *(lane.task for lane in self._lanes.values() if lane.task)]:
                    await asyncio.wait(tasks)
        except TimeoutError:
            for lane in self._lanes.values():
                if lane.task is not None:
                    lane.task.cancel()
        await self.runner.close()
        await asyncio.to_thread(self.judges.close)
        await self.store.close()

    async def _drain(self, session_id: str, waiting: list[_Call]) -> None:
        try:
            while waiting:
                calls = waiting[:LANE_BATCH]
                del waiting[:LANE_BATCH]
                try:
                    await self._settle(session_id, calls)
                except BaseException as error:  # a defect must not leave callers waiting for ever
                    _fail(calls, error)
                    if not isinstance(error, Exception):
                        _fail(waiting, error)
                        raise
        finally:
            del self._lanes[session_id]

    async def _settle(self, session_id: str, calls: list[_Call]) -> None:
        for attempt in range(MAX_ATTEMPTS):
            try:
                await self._process(session_id, calls)
                return
            except HeadMoved:
                self.retries += 1
                self.stored_policies.clear()  # if a backup was restored under us, they may be gone
                # Losing once is news; losing often means contention, and a little chance keeps it fair.
                await asyncio.sleep(random.uniform(0, 0.002) * min(attempt, 10))  # noqa: S311
                await self.positions.reload(session_id)
            except StorageUnavailable as error:
                _fail(calls, BeliefdError(Code.STORAGE_UNAVAILABLE, str(error)))
                return
            except LedgerBroken as error:
                _fail(calls, ledger_broken(error))
                return
        _fail(calls, BeliefdError(Code.CONFLICT, "too many writers on this session; try again"))

    async def _process(self, session_id: str, calls: list[_Call]) -> None:
        turn = _Turn(self, session_id, await self._position(session_id, calls))
        for call in calls:
            await turn.take(call)
        if turn.entries:
            await self.store.append(turn.append())
            self.positions.keep(turn.position)
            self.stored_policies.update(turn.policies)
        turn.answer()

    async def _position(self, session_id: str, calls: list[_Call]) -> Position | None:
        """Where to decide from. The cache may be old: an append finds that out, If-Match must ask before."""
        if any(call.if_match not in (None, "*") for call in calls):
            return await self.positions.fresh(session_id)
        return self.positions.cached(session_id) or await self.positions.reload(session_id)

    async def recall(self, used: Remembered) -> Outcome:
        """The answer a remembered request got: a function of its entry and the state after it."""
        position = await self.positions.at(used.session_id, used.seq)
        entries = await self.store.entries(used.session_id, used.seq - 1, 1)
        if position is None or not entries:
            raise LedgerBroken(used.seq, None, "a remembered request points at an event that is not there")
        return Outcome(read(entries[0].record).delta, position.session, position.head, repeated=True)


class _Turn:
    """One pass over waiting calls: everything is worked out here, then written at once."""

    def __init__(self, steward: Steward, session_id: str, position: Position | None) -> None:
        self._steward = steward
        self._session_id = session_id
        self._expected = None if position is None else position.head
        self.session = None if position is None else position.session
        self.head = self._expected
        self.entries: list[Sealed] = []
        self._outcomes: list[tuple[_Call, Outcome | BeliefdError]] = []
        self._used: dict[tuple[str, str], tuple[Remembered, Outcome]] = {}
        self._verdicts: list[tuple[str, str]] = []
        self._now = ""
        self._snapshot: Snapshot | None = None
        self._inbox: dict[str, InboxRow] = {}
        self._graph: list[GraphRows] = []
        # Another policy may come into force while a turn waits for a detector or for the disk.
        self.policies: dict[str, Policy] = {}

    async def take(self, call: _Call) -> None:
        try:
            outcome = await self._remembered(call) if call.key is not None else None
            if outcome is None:
                steward, command = self._steward, call.command
                findings = None
                if isinstance(command, EXAMINED):
                    if call.recent is None:  # a call that is decided again has still been made once
                        call.recent = steward.lookout.count(command, call.principal, steward.policy)
                    findings = await steward.lookout.findings(
                        self.session, command, call.principal, steward.policy, call.recent, call.aside
                    )
                if _is_heavy(command):
                    outcome = await asyncio.to_thread(self._decide, call, findings)
                else:
                    outcome = self._decide(call, findings)
            self._outcomes.append((call, outcome))
        except BeliefdError as error:
            self._outcomes.append((call, error))
        except NotCanonical as error:
            # One caller's unhashable value is that caller's error; the others of this turn go on.
            path = error.path.replace("$.payload", "$", 1)
            self._outcomes.append((call, invalid(error.message, path)))
        except UnicodeEncodeError:
            self._outcomes.append((call, invalid("lone surrogates are not text", "$")))

    async def _remembered(self, call: _Call) -> Outcome | None:
        assert call.key is not None  # noqa: S101
        who = call.principal.id
        here = self._used.get((who, call.key))
        used = here[0] if here else await self._steward.store.remembered(who, call.key)
        if used is None:
            return None
        if used.request_hash != call.request_hash:
            raise BeliefdError(
                Code.CONFLICT,
                f"Idempotency-Key `{call.key}` was used for another request; use a new key",
                {"path": "Idempotency-Key"},
            )
        return replace(here[1], repeated=True) if here else await self._steward.recall(used)

    def _decide(self, call: _Call, findings: Findings | None) -> Outcome:
        if self.session is None and not isinstance(call.command, DeclareSession):
            raise session_not_found(self._session_id)
        head_id = None if self.head is None else self.head.event_id
        if call.if_match not in (None, "*", head_id):
            raise BeliefdError(
                Code.CONFLICT,
                f"If-Match names `{call.if_match}`, but the head is `{head_id}`; read again and decide again",
                {"path": "If-Match", "head": head_id},
            )
        steward, before = self._steward, self.session
        self._now = steward.outside.now()
        facts = Facts(
            now=self._now,
            event_id=steward.outside.new_id(),
            principal=call.principal,
            policy=steward.policy,
            policy_hash=steward.policy_hash,
            findings=findings,
        )
        self.policies[facts.policy_hash] = facts.policy
        event = decide(before, call.command, facts)
        if before is None:
            assert isinstance(call.command, DeclareSession)  # noqa: S101 - checked above
            after = begin(self._session_id, call.command)
        else:
            after = evolve(before, event)
        sealed = seal(before, call.command, event, after, self.head, facts)
        self.session, self.head = after, head_of(sealed)
        self.entries.append(sealed)
        if state_hash_due(after, sealed.seq):
            self._snapshot = pack(after, sealed.seq)
        for row in inbox_rows(event, after):
            self._inbox[row.approval_id] = row
        if rows := graph_rows(event, after):
            self._graph.append(rows)
        self._verdicts.append((verb_of(call.command), str(event.__struct_config__.tag)))
        outcome = Outcome(event, after, self.head)
        if call.key is not None:
            used = Remembered(call.principal.id, call.key, call.request_hash, self._session_id, sealed.seq)
            self._used[call.principal.id, call.key] = (used, outcome)
        return outcome

    def append(self) -> Append:
        return Append(
            session_id=self._session_id,
            expected=self._expected,
            entries=self.entries,
            created_at=self._now,
            policies=[
                (name, canonical(msgspec.to_builtins(policy)))
                for name, policy in self.policies.items()
                if name not in self._steward.stored_policies
            ],
            remembered=[used for used, _ in self._used.values()],
            snapshot=self._snapshot,
            inbox=list(self._inbox.values()),
            graph=merged(self._graph) if self._graph else NOTHING,
        )

    @property
    def position(self) -> Position:
        assert self.session is not None  # noqa: S101 - asked for only when there are entries
        assert self.head is not None  # noqa: S101
        return Position(self.session, self.head)

    def answer(self) -> None:
        for verdict in self._verdicts:
            self._steward.decided[verdict] += 1
        for call, outcome in self._outcomes:
            if call.done.done():
                continue
            if isinstance(outcome, BeliefdError):
                call.done.set_exception(outcome)
            else:
                call.done.set_result(outcome)


def refusal(outcome: Outcome) -> BeliefdError | None:
    """The error that a refused command is answered with; it names the event that records the refusal."""
    event = outcome.event
    if not isinstance(event, Refused):
        return None
    return BeliefdError(event.code, event.message, {**event.details, "audit_event_id": outcome.head.event_id})


def _is_heavy(command: Command) -> bool:
    if isinstance(command, Eliminate):
        return len(command.eliminated) > HEAVY_ITEMS
    if isinstance(command, DeclareSession):
        return len(command.hypotheses) > HEAVY_ITEMS
    return isinstance(command, Merge)


def ledger_broken(error: LedgerBroken) -> BeliefdError:
    return BeliefdError(
        Code.LEDGER_BROKEN,
        f"the stored ledger does not verify: {error}",
        {"seq": error.seq, "event_id": error.event_id, "reason": error.reason},
    )


def _fail(calls: list[_Call], error: BaseException) -> None:
    for call in calls:
        if not call.done.done():
            call.done.set_exception(error)
