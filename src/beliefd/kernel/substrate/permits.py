"""Calls that their callers run: who is to run a tool, what was asked before, what a person has said yes to.

A permit is the call itself, while it is running: it exists once, names its arguments, its tool and its
policy, and ends at the call's deadline.
"""

from msgspec import UNSET, UnsetType

from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.canonical import digest
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.substrate.situation import Situation
from beliefd.kernel.substrate.state import ToolCall
from beliefd.kernel.substrate.tools import ToolDefinition


def wrong_executor(situation: Situation, tool_id: str, definition: ToolDefinition) -> Reason | None:
    """INVARIANT: nobody gets a permit for what the server runs, and the server runs nothing else."""
    if situation.execute is None or (situation.execute == "caller") == definition.is_run_by_caller:
        return None
    if definition.is_run_by_caller:
        text, remedy = f"`{tool_id}` is run by its caller", 'a proposal with `"execute": "caller"`'
    else:
        text, remedy = f"`{tool_id}` is run by the server", "a proposal without `execute`"
    return Reason(code="WRONG_EXECUTOR", text=text, remedy=remedy)


def asked_as(candidate: CallCandidate, agent_id: str) -> str:
    """What makes two proposals the same question: whatever keys they came under."""
    return digest([candidate.tool_id, candidate.args, agent_id, candidate.upstream or None])


def waiting_as(session: Session, candidate: CallCandidate, agent_id: str) -> str | UnsetType:
    """The item of the inbox in which the same call waits already."""
    approval = _newest(session, candidate, agent_id)
    return UNSET if approval is None or approval.status != "pending" else approval.approval_id


def rejected_before(session: Session, candidate: CallCandidate, agent_id: str) -> Reason | None:
    """The no of a person to the same call: who said it, and why."""
    approval = _newest(session, candidate, agent_id)
    if approval is None or approval.status != "rejected":
        return None
    why = next((one.reason for one in reversed(approval.approvals) if one.decision == "REJECTED"), "")
    text = f"rejected by {approval.decided_by}{f': {why}' if why else ''}"
    return Reason(code="REJECTED", text=text, remedy="another call")


def approved_call(session: Session, candidate: CallCandidate, agent_id: str) -> ToolCall | None:
    """The same call, if a person has said yes to it and it waits for its caller."""
    approval = _newest(session, candidate, agent_id)
    if approval is None or not approval.led_to:
        return None
    call = session.substrate.calls.get(approval.led_to)
    if call is None or call.status != "scheduled" or not call.is_run_by_caller:
        return None
    # A key that another call has used up is answered as that one.
    key = f"{candidate.tool_id}\n{candidate.idempotency_key}"
    return call if session.substrate.call_keys.get(key) in (None, call.call_id) else None


def _newest(session: Session, candidate: CallCandidate, agent_id: str) -> Approval | None:
    """The item in which a call was asked about last; of one that was escalated, what it led to."""
    if not session.substrate.asked:
        return None
    name = session.substrate.asked.get(asked_as(candidate, agent_id))
    found: Approval | None = None
    while name is not None:
        found = session.approvals.by_id[name]
        name = found.successor
    return found
