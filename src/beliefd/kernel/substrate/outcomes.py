"""Recording what calls came to."""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.canonical import digest
from beliefd.kernel.context.state import ContextRecord
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.labels import WITNESSED
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.commands import RecordOutcome
from beliefd.kernel.substrate.events import OutcomeRecorded
from beliefd.kernel.substrate.state import ToolCall


def record_outcome(session: Session, command: RecordOutcome, facts: Facts) -> OutcomeRecorded | Refused:
    """INVARIANT: an outcome exists only for a call that has begun, and only once."""
    call = session.substrate.calls.get(command.call_id)
    if call is None:
        return refused(Code.NOT_FOUND, f"no call `{command.call_id}` was let through", "$.call_id")
    # Calls that are older than beginnings have none.
    expected = "scheduled" if call.basis is UNSET else "running"
    if call.status not in (expected, "unknown"):
        return refused(Code.CONFLICT, f"the call is {call.status} already", "$.call_id")
    done = replace(
        call,
        status=command.status,
        result_hash=None if command.status == "unknown" else digest([command.result, command.error]),
        outcome=facts.event_id,
    )
    return OutcomeRecorded(
        call=done,
        result=command.result,
        error=command.error,
        tokens=command.tokens,
        cpu_ms=command.cpu_ms,
        disk_bytes=command.disk_bytes,
        context=_as_context(done, facts),
    )


def _as_context(call: ToolCall, facts: Facts) -> ContextRecord | UnsetType:
    """What a call came to is something that the agent was told, where policy asks what it was told."""
    if facts.policy.context is UNSET or call.status == "unknown":
        return UNSET
    return ContextRecord(
        context_id=f"ctx-{facts.event_id}",
        event_id=facts.event_id,
        kind="result",
        label=WITNESSED,
        told_by=facts.principal.id,
        tool_id=call.tool_id,
        call_id=call.call_id,
        error=call.status == "error",
    )
