"""Running tool calls that were allowed, and recording what they came to.

INVARIANT: a call runs only after the event that it begins with is durable, and at most once. If nobody lives
to tell its outcome, the deadline in the inbox brings it back as `unknown`; it is never run again.
"""

import asyncio
import logging
import time
from asyncio import FIRST_COMPLETED
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any, Final, get_args
from weakref import WeakValueDictionary

import msgspec
from msgspec import UNSET, Struct

from beliefd import tracing
from beliefd.kernel.canonical import canonical
from beliefd.kernel.events import Event
from beliefd.kernel.scheduling.events import Interrupted
from beliefd.kernel.scheduling.interruptions import reason_of
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.commands import RecordOutcome, StartCall
from beliefd.kernel.substrate.events import CallStarted, CallStopped, CandidateResult, OutcomeRecorded
from beliefd.kernel.substrate.situation import denied
from beliefd.kernel.substrate.state import ToolCall
from beliefd.kernel.substrate.tools import Qos, ToolDefinition, tightened
from beliefd.kernel.substrate.waiting import is_held_up, limited_root
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.steward.effects.background import Background
from beliefd.steward.entries import entry_of
from beliefd.steward.facts.call_facts import files_of, time_limit
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.queued import Outcome
from beliefd.steward.write.submitting import Submit
from beliefd.stores.base import Store
from beliefd.tools import slots as places
from beliefd.tools.registry import Registry, Tool, ToolResult, caller_of
from beliefd.tools.threads import in_thread

log = logging.getLogger("beliefd.effects")
EXECUTOR = Principal(id="steward://effects", role=Role.TOOL, tier=Tier.READ_ONLY.name)
MAX_RESULT_BYTES: Final = 1024 * 1024
MAX_ERROR: Final = 2_000
LOOK_SECONDS: Final = 0.02
RANKS: Final = {name: rank for rank, name in enumerate(get_args(Qos))}
"""Which class comes before which."""
INTERRUPTED: Final = "an interrupt cancelled it; nobody knows how far it came"
CallEnd = OutcomeRecorded | CallStopped
"""What is recorded of a call that is over: what it came to, or why it did not begin."""


class Turns:
    """Locks by name, which last as long as somebody holds or waits for them."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())


class Stops:
    """By call, what tells it that it is to stop: while it waits for its turn, and while it runs."""

    def __init__(self) -> None:
        self._by_call: dict[str, asyncio.Future[None]] = {}

    @contextmanager
    def of(self, call_id: str) -> Iterator["asyncio.Future[None]"]:
        told = self._by_call[call_id] = asyncio.get_running_loop().create_future()
        try:
            yield told
        finally:
            del self._by_call[call_id]

    def tell(self, call_ids: Iterable[str]) -> None:
        for told in (self._by_call.get(one) for one in call_ids):
            if told is not None and not told.done():
                told.set_result(None)


class ToolCalls(Struct, frozen=True):
    """Runs calls that were allowed, each once, and records what they came to."""

    store: Store
    positions: Positions
    submit: Submit
    registry: Registry
    in_force: PolicyInForce
    background: Background
    turns: Turns = msgspec.field(default_factory=Turns)
    stops: Stops = msgspec.field(default_factory=Stops)

    def interrupt(self, event: Interrupted) -> None:
        """Tell calls of this process that they are stopped or cancelled."""
        self.stops.tell((*event.cancelled, *(one.call_id for one in event.stopped)))

    async def run_scheduled_calls(
        self, outcome: Outcome, results: Iterable[CandidateResult]
    ) -> list[CallEnd | None]:
        """Run the calls that `outcome` scheduled, in order; return what is recorded of each result's call.

        INVARIANT: only who had a call decided runs it. An answer given again runs nothing again.
        """
        session_id = outcome.session.session_id
        results = tuple(results)
        calls = [
            result.call
            for result in results
            if result.call is not None and not result.call.is_run_by_caller and not outcome.repeated
        ]
        ran = await self._run_in_order(session_id, calls)
        recorded: list[CallEnd | None] = []
        for result in results:
            call_id = call_id_of(result)
            if call_id is None or call_id in ran:
                recorded.append(None if call_id is None else ran[call_id])
            elif result.call is not None and self._is_new(outcome, call_id):
                recorded.append(None)
            else:
                recorded.append(await self._recorded(session_id, call_id))
        return recorded

    def _is_new(self, outcome: Outcome, call_id: str) -> bool:
        """Has this submission let a call begin of which nothing else is known here? Nobody could know of it
        before its answer, so the store is not asked who reported on it."""
        known = self.positions.cached(outcome.session.session_id)
        session = outcome.session if known is None else known.session
        call = session.substrate.calls.get(call_id)
        return not outcome.repeated and call is not None and call.outcome is None

    async def _run_in_order(self, session_id: str, calls: list[ToolCall]) -> dict[str, CallEnd | None]:
        """One after the other; neighbours that may run side by side do."""
        running: dict[str, asyncio.Task[CallEnd | None]] = {}
        ended: dict[str, CallEnd | None] = {}
        for call, following in zip_longest(calls, calls[1:]):
            # It is run and recorded also if who asked for it goes away meanwhile.
            running[call.call_id] = self.background.start(self._run_and_record(session_id, call))
            if following is None or not (self._is_independent(call) and self._is_independent(following)):
                await asyncio.wait(running.values())
                ended.update((name, task.result()) for name, task in running.items())
                running = {}
        return ended

    def _is_independent(self, call: ToolCall) -> bool:
        """Its tool says so, and neither tool nor policy says that it changes anything."""
        tool = self.registry.get(call.tool_id)
        if tool is None:
            return False
        definition = self._as_in_force(tool)
        return bool(definition.concurrent) and not definition.mutates and not definition.fs_write_args

    async def _recorded(self, session_id: str, call_id: str) -> CallEnd | None:
        """The newest end that is recorded of a call; None while it is under way."""
        session = (await self.positions.existing(session_id)).session
        event_id = session.substrate.calls[call_id].outcome
        if event_id is None:
            return None
        event = (await entry_of(self.store, session_id, event_id)).delta
        if isinstance(event, Interrupted):
            return _stopped_by(event, call_id)
        return event if isinstance(event, OutcomeRecorded | CallStopped) else None

    async def _run_and_record(self, session_id: str, call: ToolCall) -> CallEnd | None:
        """None if the ledger takes no outcome any more.

        INVARIANT: what runs was allowed to begin by an event that is durable, and that this very submission
        made: whoever else tries is refused.
        """
        with self.stops.of(call.call_id) as told:
            place = await self._place(call, told)
            places.kept_place.set(place)
            try:
                event = await self._begin(session_id, call)
                if isinstance(event, CallStopped):
                    return event
                if not isinstance(event, CallStarted):
                    return await self._recorded(session_id, call.call_id)
                ended = await self._run(event.call, told)
            finally:
                places.slots.leave(place)
        outcome = await self.submit(session_id, ended, EXECUTOR)
        return outcome.event if isinstance(outcome.event, OutcomeRecorded) else None

    async def _place(self, call: ToolCall, told: "asyncio.Future[None]") -> places.Place | None:
        """A place to run in, waited for by class; None if there was none in its time, or it is to stop."""
        rank = RANKS[call.qos or "interactive"]
        waits = asyncio.ensure_future(places.slots.kept(caller_of(call), rank))
        tool = self.registry.get(call.tool_id)
        patience = 0 if tool is None else time_limit(tool.definition, self.in_force.policy)
        try:
            await asyncio.wait((waits, told), timeout=patience / 1000, return_when=FIRST_COMPLETED)
        finally:
            if not waits.done():
                waits.cancel()
        return waits.result() if waits.done() and not waits.cancelled() else None

    async def _begin(self, session_id: str, call: ToolCall) -> Event | None:
        """Those who draw on the same limited budgets begin in the order in which they came.

        What is set aside for a call under way may come back, and is waited for. None if it is over already.
        """
        session = (await self.positions.existing(session_id)).session
        if not session.substrate.calls[call.call_id].is_under_way:
            return None
        if (root := limited_root(session.substrate, call)) is None:
            return (await self.submit(session_id, StartCall(call_id=call.call_id), EXECUTOR)).event
        async with self.turns.of(f"{session_id}/{root}"):
            await self._until_settled(session_id, call)
            return (await self.submit(session_id, StartCall(call_id=call.call_id), EXECUTOR)).event

    async def _until_settled(self, session_id: str, call: ToolCall) -> None:
        tool = self.registry.get(call.tool_id)
        definition = None if tool is None else self._as_in_force(tool)
        patience = 0 if definition is None else time_limit(definition, self.in_force.policy)
        until = time.monotonic() + patience / 1000
        while definition is not None and time.monotonic() < until:
            session = (await self.positions.existing(session_id)).session
            if not is_held_up(session, call.call_id, definition, self.in_force.policy):
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _as_in_force(self, tool: Tool) -> ToolDefinition:
        named = self.in_force.policy.tools.get(tool.tool_id)
        return tool.definition if named is None else tightened(tool.definition, named)

    async def _run(self, call: ToolCall, told: "asyncio.Future[None]") -> RecordOutcome:
        tool = self.registry.get(call.tool_id)
        if tool is None or tool.definition_hash != call.definition_hash:
            return _error(call, "the tool has changed or is gone")
        if self._leads_elsewhere(tool, call):
            return _error(call, "a path leads elsewhere than it did when the call was judged")
        # Its own copy: what a tool does to its arguments must not reach the state that holds them.
        own = msgspec.structs.replace(call, args=msgspec.json.decode(canonical(call.args)))
        running = asyncio.ensure_future(_execute(tool, own))
        limit = time_limit(tool.definition, self.in_force.policy)
        await asyncio.wait((running, told), timeout=limit / 1000, return_when=FIRST_COMPLETED)
        if not running.done():
            # Asked to stop, but not waited for: some do not listen.
            running.cancel()
            running.add_done_callback(_forget)
            text = INTERRUPTED if told.done() else f"no answer within {limit} ms"
            return RecordOutcome(call_id=call.call_id, status="unknown", error=text)
        if running.cancelled():
            return _error(call, "it was cancelled")
        if (error := running.exception()) is not None:
            log.warning("tool `%s` raised %s", call.tool_id, type(error).__name__)
            return _error(call, described(error))
        return running.result()

    def _leads_elsewhere(self, tool: Tool, call: ToolCall) -> bool:
        """INVARIANT: what a path leads to is looked at again right before the call: links change."""
        return not set(files_of(self._as_in_force(tool), call.args)) <= set(call.files)


def call_id_of(result: CandidateResult) -> str | None:
    """The call that a result stands for: its own, or the earlier one that it starts, stops or repeats."""
    own = result.call or result.started or result.stopped
    return own.call_id if own else result.repeats


def _stopped_by(event: Interrupted, call_id: str) -> CallStopped | None:
    """A call that an interrupt kept from beginning, as it is told to who proposed it."""
    found = (one for one in event.stopped if one.call_id == call_id)
    result = denied([reason_of(event.interruption)])
    return next((CallStopped(call=one, result=result) for one in found), None)


async def _execute(tool: Tool, call: ToolCall) -> RecordOutcome:
    """Executors are foreign code too: what they do wrong is found here, inside the task.

    What a long answer takes to be read is time of its call, in a place of its caller.
    """
    # Names as OpenTelemetry's conventions for GenAI have them; arguments and results are left out.
    said = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.tool_id,
        "gen_ai.tool.call.id": call.call_id,
        "gen_ai.tool.type": "function",
        "gen_ai.agent.id": call.agent_id,
    }
    with tracing.span(f"execute_tool {call.tool_id}", said) as span:
        try:
            result = await tool.execute(call)
        except BaseException as error:
            span.fail(type(error).__name__)
            raise
    if not isinstance(result, ToolResult):
        raise TypeError(f"the executor returned `{type(result).__name__}`, not a ToolResult")
    arguments = {"call": call, "result": result}
    told: RecordOutcome = await in_thread(caller_of(call), _as_recorded, arguments, ends=True)
    return told


def _as_recorded(call: ToolCall, result: ToolResult) -> RecordOutcome:
    """What a tool returned, as far as it can be recorded."""
    told = {
        "call_id": call.call_id,
        "status": "ok",
        "result": _recordable(result.value),
        "tokens": result.tokens,
        "cpu_ms": result.cpu_ms,
        "disk_bytes": result.disk_bytes,
    }
    try:
        return msgspec.convert(told, RecordOutcome)
    except msgspec.ValidationError as error:
        # INVARIANT: budgets only ever shrink; a tool that gives something back is not believed.
        return _error(call, f"what it says it used cannot be counted: {error}")


def _recordable(value: Any) -> Any:
    """What a tool returned as JSON; what has no canonical form or is too large is described instead."""
    try:
        data = canonical([[msgspec.to_builtins(value)]])  # as deep as it will stand in the ledger
    except Exception as error:  # a foreign value can raise anything while it is looked at
        return {"unrecorded": f"{type(value).__name__}: {described(error)}"[:500]}
    if len(data) > MAX_RESULT_BYTES:
        return {"unrecorded": f"{len(data)} bytes"}
    return msgspec.json.decode(data)[0][0]


def described(error: BaseException) -> str:
    """An exception in words that can be recorded, whatever its author made of it."""
    try:
        text = str(error)
    except Exception:
        text = "(it cannot be told)"
    return f"{type(error).__name__}: {text}"[:MAX_ERROR].encode("utf-8", "replace").decode()


def _error(call: ToolCall, text: str) -> RecordOutcome:
    return RecordOutcome(call_id=call.call_id, status="error", error=text)


def _forget(running: "asyncio.Future[Any]") -> None:
    """Nobody waits for it any more; without this, asyncio would complain about what it raises."""
    if not running.cancelled():
        running.exception()


def overdue_call(session: Session, call_id: str) -> RecordOutcome | StartCall:
    """A call whose deadline passed without an outcome: nobody knows whether it ran, if it has begun at all.

    One that has not is stopped by being judged once more: its time is up.
    """
    call = session.substrate.calls.get(call_id)
    if call is not None and call.status == "scheduled" and call.basis is not UNSET:
        return StartCall(call_id=call_id)
    return RecordOutcome(call_id=call_id, status="unknown", error="nobody recorded an outcome in time")
