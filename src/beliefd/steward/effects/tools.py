"""Running tool calls that were allowed, and recording what they came to.

INVARIANT: a call runs only after the event that allowed it is durable, and at most once. If nobody lives to
tell its outcome, the deadline in the inbox brings it back as `unknown`; it is never run again.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from beliefd.kernel.canonical import canonical
from beliefd.kernel.substrate.commands import RecordOutcome
from beliefd.kernel.substrate.events import CandidateResult, OutcomeRecorded
from beliefd.kernel.substrate.state import ToolCall
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.steward.effects.background import Background
from beliefd.steward.entries import entry_of
from beliefd.steward.facts.call_facts import files_of, tightened
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit
from beliefd.steward.write.turn import Outcome
from beliefd.stores.base import Store
from beliefd.tools.registry import Registry, Tool, ToolResult

log = logging.getLogger("beliefd.effects")
EXECUTOR = Principal(id="steward://effects", role=Role.TOOL, tier=Tier.READ_ONLY.name)
MAX_RESULT_BYTES: Final = 1024 * 1024
MAX_ERROR: Final = 2_000


class ToolCalls(Struct, frozen=True):
    """Runs calls that were allowed, each once, and records what they came to."""

    store: Store
    positions: Positions
    submit: Submit
    registry: Registry
    in_force: PolicyInForce
    background: Background

    async def run_scheduled_calls(
        self, outcome: Outcome, results: Iterable[CandidateResult]
    ) -> list[OutcomeRecorded | None]:
        """Run the calls that `outcome` scheduled, in order; return what is recorded of each result's call.

        INVARIANT: only who had a call decided runs it. An answer given again runs nothing again.
        """
        session_id = outcome.session.session_id
        recorded: list[OutcomeRecorded | None] = []
        for result in results:
            if result.call is not None and not outcome.repeated:
                # It is run and recorded also if who asked for it goes away meanwhile.
                running = self.background.start(self._run_and_record(session_id, result.call))
                recorded.append(await asyncio.shield(running))
            else:
                call_id = call_id_of(result)
                recorded.append(None if call_id is None else await self._recorded(session_id, call_id))
        return recorded

    async def _recorded(self, session_id: str, call_id: str) -> OutcomeRecorded | None:
        """The newest outcome that is recorded of a call; None while it is under way."""
        session = (await self.positions.existing(session_id)).session
        event_id = session.substrate.calls[call_id].outcome
        if event_id is None:
            return None
        event = (await entry_of(self.store, session_id, event_id)).delta
        return event if isinstance(event, OutcomeRecorded) else None

    async def _run_and_record(self, session_id: str, call: ToolCall) -> OutcomeRecorded | None:
        """None if the ledger takes no outcome any more."""
        session = (await self.positions.existing(session_id)).session
        if session.substrate.calls[call.call_id].status != "scheduled":
            return None  # its time was up before its turn came
        outcome = await self.submit(session_id, await self._run(call), EXECUTOR)
        return outcome.event if isinstance(outcome.event, OutcomeRecorded) else None

    async def _run(self, call: ToolCall) -> RecordOutcome:
        tool = self.registry.get(call.tool_id)
        if tool is None or tool.definition_hash != call.definition_hash:
            return _error(call, "the tool has changed or is gone")
        if self._leads_elsewhere(tool, call):
            return _error(call, "a path leads elsewhere than it did when the call was judged")
        # Its own copy: what a tool does to its arguments must not reach the state that holds them.
        own = msgspec.structs.replace(call, args=msgspec.json.decode(canonical(call.args)))
        running = asyncio.ensure_future(_execute(tool, own))
        done, _ = await asyncio.wait((running,), timeout=tool.definition.timeout_ms / 1000)
        if not done:
            # Asked to stop, but not waited for: some do not listen.
            running.cancel()
            running.add_done_callback(_forget)
            text = f"no answer within {tool.definition.timeout_ms} ms"
            return RecordOutcome(call_id=call.call_id, status="unknown", error=text)
        if running.cancelled():
            return _error(call, "it was cancelled")
        if (error := running.exception()) is not None:
            log.warning("tool `%s` raised %s", call.tool_id, type(error).__name__)
            return _error(call, described(error))
        return await asyncio.to_thread(_as_recorded, call, running.result())

    def _leads_elsewhere(self, tool: Tool, call: ToolCall) -> bool:
        """INVARIANT: what a path leads to is looked at again right before the call: links change."""
        named = self.in_force.policy.tools.get(call.tool_id)
        definition = tool.definition if named is None else tightened(tool.definition, named)
        return not set(files_of(definition, call.args)) <= set(call.files)


def call_id_of(result: CandidateResult) -> str | None:
    """The call that a result stands for: its own, or the earlier one that it repeats."""
    return result.repeats if result.call is None else result.call.call_id


async def _execute(tool: Tool, call: ToolCall) -> ToolResult:
    """Executors are foreign code too: what they do wrong is found here, inside the task."""
    result = await tool.execute(call)
    if not isinstance(result, ToolResult):
        raise TypeError(f"the executor returned `{type(result).__name__}`, not a ToolResult")
    return result


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


def overdue_call(call_id: str) -> RecordOutcome:
    """A call whose deadline passed without an outcome: nobody knows whether it ran."""
    return RecordOutcome(call_id=call_id, status="unknown", error="nobody recorded an outcome in time")
