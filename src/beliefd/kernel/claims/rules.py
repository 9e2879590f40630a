"""What the claim verbs are allowed to do. A bundle gets out through these functions or not at all."""

from typing import Any

from msgspec.structs import replace

from beliefd.kernel.claims.approvals import (
    Approval,
    expired,
    later,
    may_decide,
    rejecting_rule,
    required_approvals,
)
from beliefd.kernel.claims.bundle import AuditTrail, ClaimBundle, HumanApproval, content_hash, filled, seconds
from beliefd.kernel.claims.events import (
    ApprovalClosed,
    ApprovalDecided,
    BundleGated,
    Gated,
    Grant,
    GrantGiven,
    GrantRevoked,
)
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.gates import ChainResult, GateInput, run_gates
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.commands import (
    DecideApproval,
    ExpireApproval,
    GiveGrant,
    RevokeGrant,
    SubmitClaims,
    WithdrawApproval,
)
from beliefd.kernel.errors import Code
from beliefd.kernel.events import Refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import HUMAN_ALWAYS
from beliefd.kernel.state import Session
from beliefd.kernel.values import Principal, Tier

# A steward that found nothing out has not looked: the adversarial gate then asks a person.
_NOT_LOOKED = ClaimFindings(threat=Threat(detector="none", failed="no detector ran"))


def submit_claims(session: Session, command: SubmitClaims, facts: Facts) -> BundleGated | Refused:
    bundle = filled(command.bundle, facts.event_id, facts.now)
    known = session.bundles.get(bundle.id)
    superseded: str | None = None
    if known is not None:
        open_approval = session.approvals.get(known.approval_id) if known.approval_id else None
        if open_approval is None or open_approval.status != "pending":
            return _refused(Code.CONFLICT, f"bundle `{bundle.id}` has been decided; use a new id", "$.id")
        if facts.principal.id not in open_approval.proposers:
            return _refused(Code.CONFLICT, f"bundle `{bundle.id}` belongs to somebody else", "$.id")
        superseded = open_approval.approval_id
    grant = _covering_grant(session, bundle, facts)
    given = _gate_input(bundle, facts.principal, facts, grant)
    gated = _gated(run_gates(given), bundle, facts, (facts.principal.id,), facts.principal)
    used = grant if grant is not None and gated.bundle.decision == "PUBLISH" else None
    return BundleGated(gated=gated, proposer=facts.principal.id, superseded=superseded, grant_id=used)


def decide_approval(session: Session, command: DecideApproval, facts: Facts) -> ApprovalDecided | Refused:
    """INVARIANT: an approval counts only for the exact content, from an eligible other person, in time, once."""
    approval = session.approvals.get(command.approval_id)
    problem = _cannot_decide(approval, command, facts)
    if problem is not None or approval is None:
        return problem or _no_such_approval(command.approval_id)
    if command.decision == "MODIFIED":
        return _modified(approval, command, facts)
    word = HumanApproval(
        approver=facts.principal.id, timestamp=facts.now, decision=command.decision, reason=command.reason
    )
    words = (*approval.approvals, word)
    if command.decision == "APPROVED" and len(words) < approval.rule.required:
        waiting = replace(approval, approvals=words)
        return _decided(command, facts, waiting, None)
    return _resumed(approval, command, facts, words)


def withdraw_approval(session: Session, command: WithdrawApproval, facts: Facts) -> ApprovalClosed | Refused:
    approval = session.approvals.get(command.approval_id)
    if approval is None:
        return _no_such_approval(command.approval_id)
    if approval.status != "pending":
        return _settled(approval)
    if facts.principal.id not in approval.proposers:
        return _refused(Code.FORBIDDEN, "only who proposed it can withdraw it", "$.approval_id")
    reason = f"withdrawn by `{facts.principal.id}`" + (f": {command.reason}" if command.reason else "")
    return ApprovalClosed(
        approval_id=approval.approval_id,
        outcome="withdrawn",
        approval=_closed(approval, "withdrawn"),
        bundle=_ended(approval, reason),
    )


def expire_approval(session: Session, command: ExpireApproval, facts: Facts) -> ApprovalClosed | Refused:
    approval = session.approvals.get(command.approval_id)
    if approval is None:
        return _no_such_approval(command.approval_id)
    if approval.status not in ("pending", "information"):
        return _settled(approval)
    if not expired(approval, facts.now):
        return _refused(Code.CONFLICT, f"it is open until {approval.expires_at}", "$.approval_id")
    policy = facts.policy.approvals
    reason = f"nobody decided until {approval.expires_at}"
    if approval.status == "information" or policy.on_expiry == "refuse":
        outcome, closed, successor = "refuse", _closed(approval, "timed_out"), None
    elif policy.on_expiry == "keep":
        outcome, closed, successor = "keep", replace(approval, overdue=True), None
    else:
        successor = replace(
            approval,
            approval_id=f"apr-{facts.event_id}",
            rule=policy.escalate_to,
            opened_at=facts.now,
            expires_at=later(facts.now, policy.expires_seconds),
            approvals=(),
        )
        outcome, closed = "escalate", _closed(approval, "timed_out", successor.approval_id)
    if approval.status == "information":
        bundle = approval.bundle
    elif outcome == "refuse":
        bundle = _ended(approval, reason)
    else:
        bundle = _waiting(approval, reason)
    assert bundle is not None  # noqa: S101 - open approvals hold their bundle
    return ApprovalClosed(
        approval_id=approval.approval_id,
        outcome=outcome,  # type: ignore[arg-type]
        approval=closed,
        bundle=bundle,
        successor=successor,
    )


def give_grant(session: Session, command: GiveGrant, facts: Facts) -> GrantGiven | Refused:
    # INVARIANT: no standing consent exists for DELETE or PRIVILEGE.
    forbidden = [tier for tier in command.tiers if tier in HUMAN_ALWAYS]
    if forbidden:
        return _refused(Code.FORBIDDEN, f"{forbidden[0]} cannot be granted in advance", "$.tiers")
    if not may_decide(facts.policy.approvals.otherwise, facts.principal):
        return _refused(Code.FORBIDDEN, f"role `{facts.principal.role}` may not give grants", "$")
    if command.principal == facts.principal.id:
        return _refused(Code.FORBIDDEN, "nobody can grant to themselves", "$.principal")
    grant = Grant(
        grant_id=f"grant-{facts.event_id}",
        principal=command.principal,
        tiers=command.tiers,
        granted_by=facts.principal.id,
        granted_at=facts.now,
        expires_at=later(facts.now, command.expires_in_seconds),
        max_uses=command.max_uses,
    )
    return GrantGiven(grant=grant)


def revoke_grant(session: Session, command: RevokeGrant, facts: Facts) -> GrantRevoked | Refused:
    grant = session.grants.get(command.grant_id)
    if grant is None:
        return _refused(Code.NOT_FOUND, f"no grant `{command.grant_id}` in this session", "$.grant_id")
    if not may_decide(facts.policy.approvals.otherwise, facts.principal):
        return _refused(Code.FORBIDDEN, f"role `{facts.principal.role}` may not revoke grants", "$")
    return GrantRevoked(grant=replace(grant, revoked_at=grant.revoked_at or facts.now))


def _cannot_decide(approval: Approval | None, command: DecideApproval, facts: Facts) -> Refused | None:
    if approval is None:
        return _no_such_approval(command.approval_id)
    if approval.status == "information":
        return _refused(Code.CONFLICT, "it is for information; there is nothing to decide", "$.approval_id")
    if approval.status != "pending":
        return _settled(approval)
    if expired(approval, facts.now):
        return _refused(Code.CONFLICT, f"its time ran out at {approval.expires_at}", "$.approval_id")
    if facts.principal.id in approval.proposers:
        return _refused(Code.FORBIDDEN, "who proposed it cannot decide it", "$.approval_id")
    rule = rejecting_rule(approval.rule, facts.policy.approvals)
    if not may_decide(rule, facts.principal):
        able = ", ".join(f"`{name}`" for name in required_approvals(rule))
        return _refused(Code.FORBIDDEN, f"`{facts.principal.id}` may not decide it; it takes {able}", "$")
    if any(word.approver == facts.principal.id for word in approval.approvals):
        return _refused(Code.CONFLICT, "you have approved it already; another person must agree", "$")
    if command.content_hash != approval.content_hash:
        return _refused(
            Code.CONFLICT,
            "`content_hash` is not that of what waits; look at it again",
            "$.content_hash",
            content_hash=approval.content_hash,
        )
    if command.decision not in approval.allowed:
        return _refused(Code.FORBIDDEN, "nobody may approve this; it can only be rejected", "$.decision")
    if (command.decision == "MODIFIED") != bool(command.claims):
        return _refused(Code.INVALID_REQUEST, "`claims` go with MODIFIED, and only with it", "$.claims")
    return None


def _resumed(
    approval: Approval, command: DecideApproval, facts: Facts, words: tuple[HumanApproval, ...]
) -> ApprovalDecided:
    """Run the chain again on the same content under today's policy and findings, with the person's word."""
    assert approval.bundle is not None  # noqa: S101 - it is pending
    if command.decision == "REJECTED":
        reason = f"rejected by `{facts.principal.id}`" + (f": {command.reason}" if command.reason else "")
        bundle = replace(_ended(approval, reason), audit_trail=_trail(approval, words))
        gated = Gated(bundle=bundle, content_hash=approval.content_hash, results=approval.results)
        return _decided(command, facts, _closed(approval, "rejected", words=words), gated)
    answered = frozenset({*approval.approved_gates, approval.gate, "human"})
    given = _gate_input(approval.bundle, approval.proposer, facts, None)
    chain = run_gates(given, answered)
    gated = _gated(chain, approval.bundle, facts, approval.proposers, approval.proposer, words, answered)
    successor = None if gated.approval is None else gated.approval.approval_id
    return _decided(command, facts, _closed(approval, "approved", successor, words), gated)


def _modified(approval: Approval, command: DecideApproval, facts: Facts) -> ApprovalDecided:
    """INVARIANT: an edit is a new proposal by who edited it; somebody else must approve it."""
    assert approval.bundle is not None  # noqa: S101 - it is pending
    edited = filled(
        ClaimBundle(origin_agent=approval.bundle.origin_agent, claims=command.claims),
        facts.event_id,
        facts.now,
    )
    proposers = tuple(dict.fromkeys((*approval.proposers, facts.principal.id)))
    given = _gate_input(edited, approval.proposer, facts, None)
    chain = run_gates(given)
    if chain.stopped_by is None:
        # What a person was called for does not slip out because it was edited: a person sees the edit too.
        chain = replace(
            chain,
            stopped_by="human",
            passed=tuple(gate for gate in chain.passed if gate != "human"),
            decision="ESCALATE",
            reason="human gate: an edited bundle needs another person",
        )
    gated = _gated(chain, edited, facts, proposers, approval.proposer)
    successor = None if gated.approval is None else gated.approval.approval_id
    reason = f"modified by `{facts.principal.id}`, see bundle `{edited.id}`"
    closed = _closed(approval, "modified", successor)
    return replace(_decided(command, facts, closed, gated), replaced=_ended(approval, reason))


def _decided(
    command: DecideApproval, facts: Facts, approval: Approval, gated: Gated | None
) -> ApprovalDecided:
    return ApprovalDecided(
        approval_id=command.approval_id,
        decision=command.decision,
        approver=facts.principal.id,
        approval=approval,
        gated=gated,
    )


def _gate_input(bundle: ClaimBundle, principal: Principal, facts: Facts, grant: str | None) -> GateInput:
    return GateInput(bundle, principal, facts.policy, facts.findings or _NOT_LOOKED, facts.now, grant)


def _gated(
    chain: ChainResult,
    bundle: ClaimBundle,
    facts: Facts,
    proposers: tuple[str, ...],
    proposer: Principal,
    words: tuple[HumanApproval, ...] = (),
    answered: frozenset[str] = frozenset(),
) -> Gated:
    """The bundle with what the server has to say about it, and the approval it opens, if any."""
    rule = facts.policy.approvals.rule_for(bundle.tier.name)
    waits = chain.decision in ("DEFER", "ESCALATE")
    judged = replace(
        bundle,
        decision=chain.decision,
        reason=chain.reason,
        required_approvals=required_approvals(rule) if waits else (),
        audit_trail=AuditTrail(gates_passed=chain.passed, gates_failed=chain.failed, human_approvals=words),
    )
    binding = content_hash(bundle)
    informs = chain.decision == "PUBLISH" and not words and bundle.tier is Tier.MODIFY
    approval = None
    if waits or informs:
        approval = Approval(
            approval_id=f"apr-{facts.event_id}",
            bundle_id=bundle.id or "",
            bundle=judged if informs else bundle,
            content_hash=binding,
            proposers=proposers,
            proposer=proposer,
            gate=chain.stopped_by or "human",
            tier=bundle.tier.name,
            reason=chain.reason,
            results=chain.results,
            rule=rule,
            opened_at=facts.now,
            expires_at=later(facts.now, facts.policy.approvals.expires_seconds),
            status="information" if informs else "pending",
            approvals=(),
            approved_gates=tuple(sorted(answered)),
        )
    return Gated(
        bundle=judged,
        content_hash=binding,
        results=chain.results,
        caveats=chain.caveats,
        approval=approval,
    )


def _covering_grant(session: Session, bundle: ClaimBundle, facts: Facts) -> str | None:
    needed = {
        claim.risk_tier for claim in bundle.claims if claim.risk_tier in facts.policy.approvals.require_human
    }
    if not needed:
        return None
    for grant_id in sorted(session.grants):
        grant: Grant = session.grants[grant_id]
        live = grant.revoked_at is None and grant.uses < grant.max_uses
        timely = seconds(facts.now) < seconds(grant.expires_at)
        if live and timely and grant.principal == facts.principal.id and needed <= set(grant.tiers):
            return grant_id
    return None


def _closed(
    approval: Approval,
    status: Any,
    successor: str | None = None,
    words: tuple[HumanApproval, ...] | None = None,
) -> Approval:
    return replace(
        approval,
        status=status,
        bundle=None,
        successor=successor,
        approvals=approval.approvals if words is None else words,
    )


def _trail(approval: Approval, words: tuple[HumanApproval, ...]) -> AuditTrail:
    failed = {result.gate for result in approval.results if result.outcome in ("DEFER", "ESCALATE", "REFUSE")}
    order = dict.fromkeys(result.gate for result in approval.results)
    return AuditTrail(
        gates_passed=tuple(gate for gate in order if gate not in failed),
        gates_failed=tuple(gate for gate in order if gate in failed),
        human_approvals=words,
    )


def _ended(approval: Approval, reason: str) -> ClaimBundle:
    """The bundle of an approval that came to nothing."""
    assert approval.bundle is not None  # noqa: S101 - it is open
    return replace(
        approval.bundle, decision="REFUSE", reason=reason, audit_trail=_trail(approval, approval.approvals)
    )


def _waiting(approval: Approval, reason: str) -> ClaimBundle:
    assert approval.bundle is not None  # noqa: S101 - it is open
    return replace(
        approval.bundle, decision="DEFER", reason=reason, audit_trail=_trail(approval, approval.approvals)
    )


def _settled(approval: Approval) -> Refused:
    """Too late: tell what was decided and by whom, so that the second of two people knows."""
    first = approval.approvals[-1] if approval.approvals else None
    return _refused(
        Code.CONFLICT,
        f"approval `{approval.approval_id}` is {approval.status} already",
        "$.approval_id",
        status=approval.status,
        decided_by=None if first is None else first.approver,
        successor=approval.successor,
    )


def _no_such_approval(approval_id: str) -> Refused:
    return _refused(Code.APPROVAL_NOT_FOUND, f"no approval `{approval_id}` in this session", "$.approval_id")


def _refused(code: Code, message: str, path: str, **details: Any) -> Refused:
    return Refused(code=code, message=message, details={"path": path, **details})
