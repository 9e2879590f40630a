"""What a decision means for a tool that its server defines anew."""

from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.approvals.state import Approval, DefinitionSubject
from beliefd.kernel.approvals.words import agreed, decided, heard, not_offered
from beliefd.kernel.catalogues.state import Pinned
from beliefd.kernel.event import Refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session


def decide(
    session: Session, approval: Approval, command: DecideApproval, facts: Facts
) -> ApprovalDecided | Refused:
    """INVARIANT: a yes pins exactly the definition that was shown."""
    if command.decision not in ("APPROVED", "REJECTED"):
        return not_offered(approval)
    told = heard(approval, command, facts)
    if command.decision == "REJECTED":
        return decided(command, facts, told.closed("rejected", by=facts.principal.id))
    if not agreed(session, told, facts):
        return decided(command, facts, told)
    subject = approval.subject
    assert isinstance(subject, DefinitionSubject)  # noqa: S101 - asked by who calls this
    assert subject.definition is not None  # noqa: S101 - it is pending
    pin = Pinned(tool=subject.definition, hash=subject.definition.hash, pinned_at=facts.now)
    closed = told.closed("approved", by=facts.principal.id)
    return replace(decided(command, facts, closed), pinned=pin)
