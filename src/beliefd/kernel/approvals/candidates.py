"""What a decision means for a tool call or a change of state that waits."""

from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.approvals.standing import is_recorded, of_now
from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.approvals.words import agreed, decided, heard, not_offered
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.arbitration import changed_mode, confirmed
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.modes import mode_at
from beliefd.kernel.substrate.renewing import renewed


def in_vain(result: CandidateResult) -> str | None:
    """Why a yes would lead to nothing; None if it leads to its effect, to another question or mode."""
    if result.verdict == "allow" or result.approval is not None or result.on_fail == "degrade":
        return None
    return "; ".join(reason.text for reason in result.reasons)


def decide(
    session: Session, approval: Approval, command: DecideApproval, facts: Facts
) -> ApprovalDecided | Refused:
    """INVARIANT: what is confirmed is arbitrated again on today's state and policy, once."""
    if command.decision not in ("APPROVED", "REJECTED"):
        return not_offered(approval)
    told = heard(approval, command, facts)
    if command.decision == "REJECTED":
        return decided(command, facts, told.closed("rejected", by=facts.principal.id))
    result = confirmed(session, of_now(told, facts), facts)
    if is_recorded(facts) and (why := in_vain(result)) is not None:
        text = f"it cannot happen now: {why}. Nothing was decided, and it still waits"
        return refused(Code.CONFLICT, text, "$.approval_id", reasons=[one.code for one in result.reasons])
    if not agreed(session, told, facts):
        return decided(command, facts, told)
    successor = None if result.approval is None else result.approval.approval_id
    closed = told.closed("approved", successor, facts.principal.id)
    if is_recorded(facts) and result.call is not None:
        closed = replace(closed, led_to=result.call.call_id)
    return replace(
        decided(command, facts, closed),
        result=result,
        mode=changed_mode(session, facts, [result]),
        derived=renewed(session, facts, mode_at(session, facts.policy, facts.now)).committed([result]),
    )
