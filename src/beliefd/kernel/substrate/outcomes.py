"""Recording what calls came to."""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.canonical import digest
from beliefd.kernel.context.policy import ContextPolicy
from beliefd.kernel.context.state import ContextRecord
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.labels import ATTESTED, WITNESSED, Label
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.commands import RecordOutcome
from beliefd.kernel.substrate.events import OutcomeRecorded
from beliefd.kernel.substrate.starting import is_overdue
from beliefd.kernel.substrate.state import ToolCall
from beliefd.kernel.values import Principal


def record_outcome(session: Session, command: RecordOutcome, facts: Facts) -> OutcomeRecorded | Refused:
    """INVARIANT: an outcome exists only for a call that has begun, and only once."""
    call = session.substrate.calls.get(command.call_id)
    problem = cannot_report(call, command.call_id, command.status, facts.principal.id, facts.now)
    if problem is not None:
        return problem
    assert call is not None  # noqa: S101 - asked above
    done = replace(call, status=command.status, result_hash=_result_hash(command), outcome=facts.event_id)
    if command.reported is not UNSET:
        label = label_of(facts.principal, facts.policy)
        done = replace(done, reported=command.reported, label=label)
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
    reported, who = call.reported, facts.principal
    return ContextRecord(
        context_id=f"ctx-{facts.event_id}",
        event_id=facts.event_id,
        kind="result",
        label=call.label or WITNESSED,
        told_by=who.id,
        content=None if reported is UNSET else reported.content,
        size=0 if reported is UNSET else reported.size,
        tool_id=call.tool_id,
        call_id=call.call_id,
        join_key=call.join_key or None,
        error=call.status == "error",
        # INVARIANT: what an agent itself says that a tool gave back is a text like any other.
        vouched=not call.is_run_by_caller or facts.policy.context.may_tell(who),
    )


def cannot_report(call: ToolCall | None, call_id: str, status: str, who: str, now: str) -> Refused | None:
    """Why there is nothing to report, for whoever says so."""
    if call is None:
        return refused(Code.NOT_FOUND, f"no call `{call_id}` was let through", "$.call_id")
    # INVARIANT: who holds the permit reports. That its time is up, anybody may say.
    told_by_time = status == "unknown" and is_overdue(call, now)
    if call.is_run_by_caller and call.agent_id != who and not told_by_time:
        return refused(Code.FORBIDDEN, "only who holds the permit can report what came of it", "$.call_id")
    # Calls that are older than beginnings have none.
    expected = "scheduled" if call.basis is UNSET else "running"
    again = call.is_run_by_caller and status == "unknown"
    if call.status != expected and (call.status != "unknown" or again):
        return refused(Code.CONFLICT, f"the call is {call.status} already", "$.call_id")
    return None


def _result_hash(command: RecordOutcome) -> str | None:
    if command.status == "unknown":
        return None
    if command.reported is not UNSET:
        return command.reported.content
    return digest([command.result, command.error])


def label_of(who: Principal, policy: Policy) -> Label:
    """What a reported result is worth: only programs that it goes through have seen it themselves."""
    return WITNESSED if (policy.context or ContextPolicy()).is_witness(who) else ATTESTED
