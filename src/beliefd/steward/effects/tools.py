"""Effects: carrying out calls that were let through, and writing down what they came to.

INVARIANT: a call runs only after the event that allowed it is durable, and at most once. If nobody lives to
tell its outcome, the deadline in the inbox brings it back as `unknown`; it is never run again.
"""

import asyncio
import logging
from typing import Any, Final

import msgspec

from beliefd.kernel.canonical import canonical
from beliefd.kernel.substrate.events import Call, OutcomeRecorded
from beliefd.kernel.substrate.proposals import RecordOutcome
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.steward.facts.call_facts import files_of, tightened
from beliefd.steward.write.steward import Steward
from beliefd.tools.registry import Tool, ToolResult

log = logging.getLogger("beliefd.effects")
EXECUTOR = Principal(id="steward://effects", role=Role.TOOL, tier=Tier.READ_ONLY.name)
MAX_RESULT_BYTES: Final = 1024 * 1024
MAX_ERROR: Final = 2_000


async def carry_out(steward: Steward, session_id: str, call: Call) -> OutcomeRecorded | None:
    """Run one scheduled call and record its outcome; None if the ledger takes none any more."""
    session = (await steward.positions.existing(session_id)).session
    if session.calls[call.call_id].status != "scheduled":
        return None  # its time was up before its turn came
    outcome = await steward.submit(session_id, await _run(steward, call), EXECUTOR)
    return outcome.event if isinstance(outcome.event, OutcomeRecorded) else None


async def _run(steward: Steward, call: Call) -> RecordOutcome:
    tool = steward.registry.get(call.tool_id)
    if tool is None or tool.definition_hash != call.definition_hash:
        return _error(call, "the tool has changed or is gone")
    if _moved(steward, tool, call):
        return _error(call, "a path leads elsewhere than it did when the call was judged")
    # Its own copy: what a tool does to its arguments must not reach the state that holds them.
    own = msgspec.structs.replace(call, args=msgspec.json.decode(canonical(call.args)))
    running = asyncio.ensure_future(_executed(tool, own))
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
    return await asyncio.to_thread(_told, call, running.result())


async def _executed(tool: Tool, call: Call) -> ToolResult:
    """Executors are foreign code too: what they do wrong is found here, inside the task."""
    result = await tool.execute(call)
    if not isinstance(result, ToolResult):
        raise TypeError(f"the executor returned `{type(result).__name__}`, not a ToolResult")
    return result


def _moved(steward: Steward, tool: Tool, call: Call) -> bool:
    """INVARIANT: what a path leads to is looked at again right before the call: links change."""
    named = steward.policy.tools.get(call.tool_id)
    definition = tool.definition if named is None else tightened(tool.definition, named)
    return not set(files_of(definition, call.args)) <= set(call.files)


def _told(call: Call, result: ToolResult) -> RecordOutcome:
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


def _error(call: Call, text: str) -> RecordOutcome:
    return RecordOutcome(call_id=call.call_id, status="error", error=text)


def _forget(running: "asyncio.Future[Any]") -> None:
    """Nobody waits for it any more; without this, asyncio would complain about what it raises."""
    if not running.cancelled():
        running.exception()


def overdue_call(call_id: str) -> RecordOutcome:
    """A call whose deadline passed without an outcome: nobody knows whether it ran."""
    return RecordOutcome(call_id=call_id, status="unknown", error="nobody recorded an outcome in time")
