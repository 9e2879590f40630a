"""On whose authority a decision rests: their standing is looked up before it is made."""

from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.state import Session


def concerned(approval: Approval) -> set[str]:
    """Those whose authority an item rests on: who proposed it, and who has said yes on the way."""
    said = (word.approver for word in (*approval.earlier, *approval.approvals))
    return {approval.proposer.id, *approval.proposers, *said}


def given_to(session: Session | None, principal_id: str) -> set[str]:
    """Who has given grants to somebody."""
    held = {} if session is None else session.approvals.grants
    return {grant.granted_by for grant in held.values() if grant.principal == principal_id}
