"""Effects: carrying out calls that were let through, and writing down what they came to.

INVARIANT: a call runs only after the event that allowed it is durable, and at most once. If nobody lives to
tell its outcome, the deadline in the inbox brings it back as `unknown`; it is never run again.
"""

import asyncio
import logging
from typing import Any

import msgspec

from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.substrate.events import Call, OutcomeRecorded
from beliefd.kernel.substrate.proposals import RecordOutcome
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.steward.handle import Steward
from beliefd.tools.registry import Registry

log = logging.getLogger("beliefd.effects")
EXECUTOR = Principal(id="steward://effects", role=Role.TOOL, tier=Tier.READ_ONLY.name)
MAX_RESULT_BYTES = 1024 * 1024


async def carry_out(
    steward: Steward, registry: Registry, session_id: str, call: Call
) -> OutcomeRecorded | None:
    """Run one scheduled call and record its outcome; None if somebody else recorded one first."""
    outcome = await steward.submit(session_id, await _run(registry, call), EXECUTOR)
    return outcome.event if isinstance(outcome.event, OutcomeRecorded) else None


async def _run(registry: Registry, call: Call) -> RecordOutcome:
    tool = registry.get(call.tool_id)
    if tool is None or tool.definition_hash != call.definition_hash:
        return RecordOutcome(call_id=call.call_id, status="error", error="the tool has changed or is gone")
    timeout = tool.definition.timeout_ms / 1000
    try:
        result = await asyncio.wait_for(tool.execute(call), timeout)
    except TimeoutError:
        return RecordOutcome(
            call_id=call.call_id, status="unknown", error=f"no answer within {tool.definition.timeout_ms} ms"
        )
    except Exception as error:  # whatever a tool throws is its outcome, not ours
        log.warning("tool `%s` raised %r", call.tool_id, error)
        text = f"{type(error).__name__}: {error}"[:2_000].encode("utf-8", "replace").decode()
        return RecordOutcome(call_id=call.call_id, status="error", error=text)
    return RecordOutcome(
        call_id=call.call_id,
        status="ok",
        result=_recordable(result.value),
        tokens=result.tokens,
        cpu_ms=result.cpu_ms,
        disk_bytes=result.disk_bytes,
    )


def _recordable(value: Any) -> Any:
    """What a tool returned as JSON; what has no canonical form or is too large is described instead."""
    try:
        plain = msgspec.to_builtins(value)
        size = len(canonical(plain))
    except (NotCanonical, TypeError, ValueError) as error:
        return {"unrecorded": f"{type(value).__name__}: {error}"[:500]}
    return plain if size <= MAX_RESULT_BYTES else {"unrecorded": f"{size} bytes"}


def overdue_call(call_id: str) -> RecordOutcome:
    """A call whose deadline passed without an outcome: nobody knows whether it ran."""
    return RecordOutcome(call_id=call_id, status="unknown", error="nobody recorded an outcome in time")
