"""The tier that what waits has today: a policy or a tool may have become more dangerous since."""

from beliefd.kernel.approvals.eligibility import rules_for
from beliefd.kernel.approvals.standing import is_recorded
from beliefd.kernel.approvals.state import Approval, ApprovalDecision, BundleSubject, CallSubject
from beliefd.kernel.claims.judging import tiers_under
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import ApproverRule
from beliefd.kernel.substrate.tiers import tool_tier
from beliefd.kernel.substrate.tools import ProposalFindings


def rules_today(approval: Approval, decision: ApprovalDecision, facts: Facts) -> tuple[ApproverRule, ...]:
    """Every rule that whoever decides must meet today."""
    tier = tier_today(approval, facts) if decision == "APPROVED" else approval.tier
    return rules_for(approval, decision, facts.policy.approvals, tier, is_recorded(facts))


def tier_today(approval: Approval, facts: Facts) -> str:
    subject = approval.subject
    if isinstance(subject, BundleSubject) and subject.bundle is not None:
        return tiers_under(facts, subject.bundle, approval.proposer.id).highest.name
    if isinstance(subject, CallSubject) and subject.candidate is not None:
        found = facts.findings.calls if isinstance(facts.findings, ProposalFindings) else ()
        if found and found[0] is not None and found[0].definition is not None:
            return tool_tier(facts.policy, subject.candidate.tool_id, found[0])
    return approval.tier
