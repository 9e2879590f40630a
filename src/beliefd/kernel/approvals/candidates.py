"""What a decision means for a tool call or a change of state that waits."""

from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.approvals.words import agreed, decided, heard, not_offered
from beliefd.kernel.event import Refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.arbitration import changed_mode, confirmed


def decide(
    session: Session, approval: Approval, command: DecideApproval, facts: Facts
) -> ApprovalDecided | Refused:
    """INVARIANT: what is confirmed is arbitrated again on today's state and policy, once."""
    if command.decision not in ("APPROVED", "REJECTED"):
        return not_offered(approval)
    told = heard(approval, command, facts)
    if command.decision == "REJECTED":
        return decided(command, facts, told.closed("rejected", by=facts.principal.id))
    if not agreed(told, facts):
        return decided(command, facts, told)
    result = confirmed(session, told, facts)
    successor = None if result.approval is None else result.approval.approval_id
    closed = told.closed("approved", successor, facts.principal.id)
    return replace(
        decided(command, facts, closed), result=result, mode=changed_mode(session, facts, [result])
    )
