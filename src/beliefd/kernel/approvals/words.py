"""What somebody said about an item of the inbox, and the event that records it."""

from typing import Final, Literal

from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.approvals.today import rules_today
from beliefd.kernel.claims.bundle import HumanApproval
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts

WORDS: Final[dict[str, Literal["APPROVED", "REJECTED"]]] = {"APPROVED": "APPROVED", "REJECTED": "REJECTED"}
"""INVARIANT: no other decision counts as a word for or against what waits."""


def heard(approval: Approval, command: DecideApproval, facts: Facts) -> Approval:
    """The item with one more yes or no on it."""
    word = HumanApproval(
        approver=facts.principal.id,
        timestamp=facts.now,
        decision=WORDS[command.decision],
        reason=command.reason,
    )
    return replace(approval, approvals=(*approval.approvals, word))


def agreed(approval: Approval, facts: Facts) -> bool:
    """Have as many people said yes as every rule wants?"""
    rules = rules_today(approval, "APPROVED", facts)
    return len(approval.approvals) >= max(rule.required for rule in rules)


def decided(command: DecideApproval, facts: Facts, approval: Approval) -> ApprovalDecided:
    return ApprovalDecided(
        event_id=facts.event_id,
        approval_id=command.approval_id,
        decision=command.decision,
        approver=facts.principal.id,
        approval=approval,
    )


def proposers_of_edit(approval: Approval, facts: Facts) -> tuple[str, ...]:
    """INVARIANT: an edit is a new proposal by whoever edited it; somebody else must approve it."""
    return tuple(dict.fromkeys((*approval.proposers, facts.principal.id)))


def not_offered(approval: Approval) -> Refused:
    """The answer to a decision that there is not for what waits."""
    text = f"it can be {', '.join(approval.allowed)}; to change it, reject it: an edit is a new proposal"
    return refused(Code.FORBIDDEN, text, "$.decision")
