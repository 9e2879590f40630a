"""What people and time do to approvals: decide, edit, withdraw, expire (DESIGN 10)."""

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
from beliefd.kernel.claims.bundle import AuditTrail, ClaimBundle, HumanApproval, filled
from beliefd.kernel.claims.events import ApprovalClosed, ApprovalDecided, Gated
from beliefd.kernel.claims.gates import run_gates
from beliefd.kernel.claims.judging import gate_input, gated
from beliefd.kernel.claims.rules import refused
from beliefd.kernel.commands import DecideApproval, ExpireApproval, WithdrawApproval
from beliefd.kernel.errors import Code
from beliefd.kernel.events import Refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.arbitration import Ground, judge_call
from beliefd.kernel.substrate.tools import CallFinding, ProposalFindings


def decide_approval(session: Session, command: DecideApproval, facts: Facts) -> ApprovalDecided | Refused:
    """INVARIANT: a word counts for the exact content only, by an eligible other person, in time, once."""
    approval = session.approvals.get(command.approval_id)
    if approval is None:
        return _no_such_approval(command.approval_id)
    if (problem := _cannot_decide(approval, command, facts)) is not None:
        return problem
    if approval.call is not None and command.decision == "MODIFIED":
        return refused(Code.FORBIDDEN, "an edited call is a new proposal; reject this one", "$.decision")
    if command.decision == "MODIFIED":
        return _modified(approval, command, facts)
    word = HumanApproval(
        approver=facts.principal.id, timestamp=facts.now, decision=command.decision, reason=command.reason
    )
    words = (*approval.approvals, word)
    if command.decision == "APPROVED" and len(words) < approval.rule.required:
        waiting = replace(approval, approvals=words)
        return _decided(command, facts, waiting, None)
    if approval.call is not None:
        return _resumed_call(session, approval, command, facts, words)
    return _resumed(approval, command, facts, words)


def withdraw_approval(session: Session, command: WithdrawApproval, facts: Facts) -> ApprovalClosed | Refused:
    approval = session.approvals.get(command.approval_id)
    if approval is None:
        return _no_such_approval(command.approval_id)
    if approval.status != "pending":
        return _settled(approval)
    if facts.principal.id not in approval.proposers:
        return refused(Code.FORBIDDEN, "only who proposed it can withdraw it", "$.approval_id")
    reason = f"withdrawn by `{facts.principal.id}`" + (f": {command.reason}" if command.reason else "")
    return ApprovalClosed(
        event_id=facts.event_id,
        approval_id=approval.approval_id,
        outcome="withdrawn",
        approval=_closed(approval, "withdrawn"),
        bundle=None if approval.call is not None else _ended(approval, reason),
    )


def expire_approval(session: Session, command: ExpireApproval, facts: Facts) -> ApprovalClosed | Refused:
    approval = session.approvals.get(command.approval_id)
    if approval is None:
        return _no_such_approval(command.approval_id)
    if approval.status not in ("pending", "information"):
        return _settled(approval)
    if not expired(approval, facts.now):
        return refused(Code.CONFLICT, f"it is open until {approval.expires_at}", "$.approval_id")
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
    return ApprovalClosed(
        event_id=facts.event_id,
        approval_id=approval.approval_id,
        outcome=outcome,  # type: ignore[arg-type]
        approval=closed,
        bundle=_after_expiry(approval, outcome, reason),
        successor=successor,
    )


def _after_expiry(approval: Approval, outcome: str, reason: str) -> ClaimBundle | None:
    if approval.call is not None or approval.status == "information":
        return approval.bundle
    return _ended(approval, reason) if outcome == "refuse" else _waiting(approval, reason)


def _cannot_decide(approval: Approval, command: DecideApproval, facts: Facts) -> Refused | None:
    """Why this word does not count, if it does not: the item first, then the speaker, then the content."""
    return _not_open(approval, facts) or _not_eligible(approval, facts) or _not_bound(approval, command)


def _not_open(approval: Approval, facts: Facts) -> Refused | None:
    if approval.status == "information":
        return refused(Code.CONFLICT, "it is for information; there is nothing to decide", "$.approval_id")
    if approval.status != "pending":
        return _settled(approval)
    if expired(approval, facts.now):
        return refused(Code.CONFLICT, f"its time ran out at {approval.expires_at}", "$.approval_id")
    return None


def _not_eligible(approval: Approval, facts: Facts) -> Refused | None:
    if facts.principal.id in approval.proposers:
        return refused(Code.FORBIDDEN, "who proposed it cannot decide it", "$.approval_id")
    rule = rejecting_rule(approval.rule, facts.policy.approvals)
    if not may_decide(rule, facts.principal):
        able = ", ".join(f"`{name}`" for name in required_approvals(rule))
        return refused(Code.FORBIDDEN, f"`{facts.principal.id}` may not decide it; it takes {able}", "$")
    if any(word.approver == facts.principal.id for word in approval.approvals):
        return refused(Code.CONFLICT, "you have approved it already; another person must agree", "$")
    return None


def _not_bound(approval: Approval, command: DecideApproval) -> Refused | None:
    if command.content_hash != approval.content_hash:
        return refused(
            Code.CONFLICT,
            "`content_hash` is not that of what waits; look at it again",
            "$.content_hash",
            content_hash=approval.content_hash,
        )
    if command.decision not in approval.allowed:
        return refused(Code.FORBIDDEN, "nobody may approve this; it can only be rejected", "$.decision")
    if (command.decision == "MODIFIED") != bool(command.claims):
        return refused(Code.INVALID_REQUEST, "`claims` go with MODIFIED, and only with it", "$.claims")
    return None


def _resumed(
    approval: Approval, command: DecideApproval, facts: Facts, words: tuple[HumanApproval, ...]
) -> ApprovalDecided:
    """Run the chain again on the same content under today's policy and findings, with the person's word."""
    assert approval.bundle is not None  # noqa: S101 - it is pending
    if command.decision == "REJECTED":
        reason = f"rejected by `{facts.principal.id}`" + (f": {command.reason}" if command.reason else "")
        bundle = replace(_ended(approval, reason), audit_trail=_trail(approval, words))
        judged = Gated(bundle=bundle, content_hash=approval.content_hash, results=approval.results)
        return _decided(command, facts, _closed(approval, "rejected", words=words), judged)
    answered = frozenset({*approval.approved_gates, approval.gate, "human"})
    given = gate_input(approval.bundle, approval.proposer, facts, None)
    chain = run_gates(given, answered)
    judged = gated(chain, approval.bundle, facts, approval.proposers, approval.proposer, words, answered)
    successor = None if judged.approval is None else judged.approval.approval_id
    return _decided(command, facts, _closed(approval, "approved", successor, words), judged)


def _resumed_call(
    session: Session,
    approval: Approval,
    command: DecideApproval,
    facts: Facts,
    words: tuple[HumanApproval, ...],
) -> ApprovalDecided:
    """INVARIANT: a confirmed call is arbitrated again on today's state and policy, and runs once at most."""
    assert approval.call is not None  # noqa: S101 - asked by who calls this
    if command.decision == "REJECTED":
        return _decided(command, facts, _closed(approval, "rejected", words=words), None)
    findings = facts.findings.calls if isinstance(facts.findings, ProposalFindings) else ()
    finding = (findings[0] if findings else None) or CallFinding()
    proposer = replace(facts, principal=approval.proposer)
    ground = Ground(session, proposer, session.sparse, frozenset(), confirmed=True)
    result = judge_call(ground, approval.call, finding, 0)
    closed = _closed(approval, "approved", words=words)
    return replace(_decided(command, facts, closed, None), result=result)


def _modified(approval: Approval, command: DecideApproval, facts: Facts) -> ApprovalDecided:
    """INVARIANT: an edit is a new proposal by who edited it; somebody else must approve it."""
    assert approval.bundle is not None  # noqa: S101 - it is pending
    edited = filled(
        ClaimBundle(origin_agent=approval.bundle.origin_agent, claims=command.claims),
        facts.event_id,
        facts.now,
    )
    proposers = tuple(dict.fromkeys((*approval.proposers, facts.principal.id)))
    given = gate_input(edited, approval.proposer, facts, None)
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
    judged = gated(chain, edited, facts, proposers, approval.proposer)
    successor = None if judged.approval is None else judged.approval.approval_id
    reason = f"modified by `{facts.principal.id}`, see bundle `{edited.id}`"
    closed = _closed(approval, "modified", successor)
    return replace(_decided(command, facts, closed, judged), replaced=_ended(approval, reason))


def _decided(
    command: DecideApproval, facts: Facts, approval: Approval, resumed: Gated | None
) -> ApprovalDecided:
    return ApprovalDecided(
        event_id=facts.event_id,
        approval_id=command.approval_id,
        decision=command.decision,
        approver=facts.principal.id,
        approval=approval,
        gated=resumed,
    )


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
        call=None,
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
    return refused(
        Code.CONFLICT,
        f"approval `{approval.approval_id}` is {approval.status} already",
        "$.approval_id",
        status=approval.status,
        decided_by=None if first is None else first.approver,
        successor=approval.successor,
    )


def _no_such_approval(approval_id: str) -> Refused:
    return refused(Code.APPROVAL_NOT_FOUND, f"no approval `{approval_id}` in this session", "$.approval_id")
