"""What callers get back about claims, approvals, grants and policy (claim-bundle; DESIGN 10, 11)."""

from typing import Literal

from beliefd.kernel.approvals.state import Grant
from beliefd.kernel.claims.bundle import AuditTrail, Claim, Decision, HumanApproval
from beliefd.kernel.claims.events import Gated
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.intents.state import Change
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.proposals import CallCandidate, Patch
from beliefd.protocol.answers import Answer
from beliefd.protocol.firewall_answers import IntentView
from beliefd.protocol.substrate_answers import CandidateAnswer


class JudgedBundle(Answer, frozen=True):
    """The bundle as the contract has it, and beside it how the gates came to their word."""

    id: str
    timestamp: str
    origin_agent: str
    claims: list[Claim]
    decision: Decision
    reason: str
    required_approvals: list[str]
    audit_trail: AuditTrail
    caveats: list[str]
    gates: list[GateResult]
    content_hash: str
    approval_id: str | None
    audit_event_id: str | None


class BundlePage(Answer, frozen=True):
    claims: list[JudgedBundle]
    next: str | None


class ApprovalCard(Answer, frozen=True):
    """All that a person needs to decide: what is claimed, why it stopped, what it costs, what changes."""

    approval_id: str
    session_id: str
    bundle_id: str
    status: str
    gate: str
    tier: str
    reason: str
    content_hash: str
    claims: list[Claim]
    call: CallCandidate | None
    patch: Patch | None
    change: Change | None
    intent_id: str
    gates: list[GateResult]
    proposers: list[str]
    required_approvals: list[str]
    required: int
    allowed_decisions: list[str]
    approvals: list[HumanApproval]
    decided_by: str | None
    on_approval: str
    opened_at: str
    expires_at: str
    overdue: bool
    successor: str | None
    audit_head_event_id: str


class Inbox(Answer, frozen=True):
    approvals: list[ApprovalCard]
    next: str | None


class DecidedApproval(Answer, frozen=True):
    """What it led to: `bundle` is the resumed chain, `call` what was confirmed, arbitrated anew; if it
    was let through, a call has been run and a change of state made.

    `intent` is the write intent that was decided. All are null while more people must agree.
    """

    approval_id: str
    status: str
    decision: str
    outcome: Decision | None
    bundle: JudgedBundle | None
    call: CandidateAnswer | None
    intent: IntentView | None
    approval: ApprovalCard
    audit_event_id: str


class Grants(Answer, frozen=True):
    grants: list[Grant]


class GrantAnswer(Answer, frozen=True):
    grant: Grant
    audit_event_id: str


class PolicyAnswer(Answer, frozen=True):
    """A policy, and where it comes from: nobody chose it (`default`), the program that opened the store did
    (`given`), it stands in a file of the operator's (`file`), or somebody `adopted` it."""

    policy_hash: str
    policy: Policy
    source: Literal["default", "given", "file", "adopted"]
    adopted_at: str | None = None
    adopted_by: str | None = None


class StoredContent(Answer, frozen=True):
    sha256: str
    size: int


def judged(gated: Gated, event_id: str | None) -> JudgedBundle:
    bundle = gated.bundle
    waits = gated.approval is not None and gated.approval.status == "pending"
    return JudgedBundle(
        id=bundle.id or "",
        timestamp=bundle.timestamp or "",
        origin_agent=bundle.origin_agent,
        claims=list(bundle.claims),
        decision=bundle.decision,
        reason=bundle.reason,
        required_approvals=list(bundle.required_approvals),
        audit_trail=bundle.audit_trail,
        caveats=list(gated.caveats),
        gates=list(gated.results),
        content_hash=gated.content_hash,
        approval_id=gated.approval.approval_id if waits and gated.approval is not None else None,
        audit_event_id=event_id,
    )
