"""What people and time do to approvals: decide, edit, withdraw, expire (DESIGN 10)."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from beliefd.kernel.claims.approvals import (
    OPEN,
    Approval,
    expired,
    later,
    may_decide,
    required_approvals,
    rules_for,
)
from beliefd.kernel.claims.bundle import AuditTrail, ClaimBundle, HumanApproval, filled
from beliefd.kernel.claims.events import ApprovalClosed, ApprovalDecided, Gated
from beliefd.kernel.claims.gates import run_gates
from beliefd.kernel.claims.judging import gate_input, gated
from beliefd.kernel.commands import DecideApproval, ExpireApproval, WithdrawApproval
from beliefd.kernel.errors import Code
from beliefd.kernel.events import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.firewall.deciding import decide_intent, intent_closed
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.arbitration import changed_mode, confirmed


def decide_approval(session: Session, command: DecideApproval, facts: Facts) -> ApprovalDecided | Refused:
    """INVARIANT: a word counts for the exact content only, by an eligible other person, in time, once."""
    approval = session.approvals.get(command.approval_id)
    if approval is None:
        return _no_such_approval(command.approval_id)
    if (problem := _cannot_decide(approval, command, facts)) is not None:
        return problem
    needed = max(rule.required for rule in rules_for(approval, "APPROVED", facts.policy.approvals))
    if approval.change is not None:
        return decide_intent(session, approval, command, needed, facts)
    if command.decision == "MODIFIED" and approval.claims:
        return _modified(approval, command, facts)
    if command.decision not in ("APPROVED", "REJECTED"):
        return refused(Code.FORBIDDEN, "an edit is a new proposal; reject this one", "$.decision")
    word = HumanApproval(
        approver=facts.principal.id, timestamp=facts.now, decision=command.decision, reason=command.reason
    )
    heard = replace(approval, approvals=(*approval.approvals, word))
    if command.decision == "REJECTED":
        return _rejected(heard, command, facts)
    if len(heard.approvals) < needed:
        return _decided(command, facts, heard, None)
    if heard.candidate is not None:
        return _resumed_proposal(session, heard, command, facts)
    return _resumed(heard, command, facts)


def withdraw_approval(session: Session, command: WithdrawApproval, facts: Facts) -> ApprovalClosed | Refused:
    approval = session.approvals.get(command.approval_id)
    if approval is None:
        return _no_such_approval(command.approval_id)
    if approval.status != "pending":
        return _settled(approval)
    if facts.principal.id not in approval.proposers:
        return refused(Code.FORBIDDEN, "only who proposed it can withdraw it", "$.approval_id")
    reason = f"withdrawn by `{facts.principal.id}`" + (f": {command.reason}" if command.reason else "")
    closed = ApprovalClosed(
        event_id=facts.event_id,
        approval_id=approval.approval_id,
        outcome="withdrawn",
        approval=_closed(approval, "withdrawn", by=facts.principal.id),
        bundle=_ended(approval, reason) if approval.claims else None,
    )
    return intent_closed(session, approval, closed, facts)


def expire_approval(session: Session, command: ExpireApproval, facts: Facts) -> ApprovalClosed | Refused:
    approval = session.approvals.get(command.approval_id)
    if approval is None:
        return _no_such_approval(command.approval_id)
    if approval.status not in OPEN:
        return _settled(approval)
    if not expired(approval, facts.now):
        return refused(Code.CONFLICT, f"it is open until {approval.expires_at}", "$.approval_id")
    closed = EXPIRIES[_on_expiry(approval, facts)](approval, facts)
    return intent_closed(session, approval, closed, facts)


def _on_expiry(approval: Approval, facts: Facts) -> str:
    if approval.status == "information":
        return "lapse"
    outcome = facts.policy.approvals.on_expiry
    # INVARIANT: time makes nothing easier. What nobody may approve finds no approver by waiting, and what
    # has been escalated once has nowhere else to go.
    if outcome == "escalate" and (approval.rule.nobody or approval.escalated):
        return "refuse"
    return outcome


def _lapse(approval: Approval, facts: Facts) -> ApprovalClosed:
    assert approval.bundle is not None  # noqa: S101 - it is open
    return _timed_out("lapse", approval, facts, approval.bundle)


def _refuse(approval: Approval, facts: Facts) -> ApprovalClosed:
    ended = _ended(approval, _undecided(approval)) if approval.claims else None
    return _timed_out("refuse", approval, facts, ended)


def _keep(approval: Approval, facts: Facts) -> ApprovalClosed:
    kept = replace(approval, overdue=True)
    waiting = _waiting(kept, _undecided(approval)) if approval.claims else None
    return replace(_timed_out("keep", approval, facts, waiting), approval=kept)


def _escalate(approval: Approval, facts: Facts) -> ApprovalClosed:
    policy = facts.policy.approvals
    successor = replace(
        approval,
        approval_id=f"apr-{facts.event_id}",
        rule=policy.escalate_to,
        opened_at=facts.now,
        expires_at=later(facts.now, policy.expires_seconds),
        approvals=(),
        earlier=(*approval.earlier, *approval.approvals),
        escalated=True,
    )
    bundle = _waiting(successor, _undecided(approval)) if approval.claims else None
    return _timed_out("escalate", approval, facts, bundle, successor)


EXPIRIES: Final[dict[str, Callable[[Approval, Facts], ApprovalClosed]]] = {
    "lapse": _lapse,
    "refuse": _refuse,
    "keep": _keep,
    "escalate": _escalate,
}


def _timed_out(
    outcome: Any,
    approval: Approval,
    facts: Facts,
    bundle: ClaimBundle | None,
    successor: Approval | None = None,
) -> ApprovalClosed:
    return ApprovalClosed(
        event_id=facts.event_id,
        approval_id=approval.approval_id,
        outcome=outcome,
        approval=_closed(approval, "timed_out", None if successor is None else successor.approval_id),
        bundle=bundle,
        successor=successor,
    )


def _undecided(approval: Approval) -> str:
    return f"nobody decided until {approval.expires_at}"


def _cannot_decide(approval: Approval, command: DecideApproval, facts: Facts) -> Refused | None:
    """Why this word does not count, if it does not: the item first, then the speaker, then the content."""
    return (
        _not_open(approval, facts) or _not_eligible(approval, command, facts) or _not_bound(approval, command)
    )


def _not_open(approval: Approval, facts: Facts) -> Refused | None:
    if approval.status != "pending":
        return _settled(approval)
    if expired(approval, facts.now):
        return refused(Code.CONFLICT, f"its time ran out at {approval.expires_at}", "$.approval_id")
    return None


def _not_eligible(approval: Approval, command: DecideApproval, facts: Facts) -> Refused | None:
    who = facts.principal
    if who.id in approval.proposers:
        return refused(Code.FORBIDDEN, "who proposed it cannot decide it", "$.approval_id")
    rules = rules_for(approval, command.decision, facts.policy.approvals)
    if any(rule.nobody for rule in rules):
        verb = "reject" if command.decision == "REJECTED" else "approve or edit"
        return refused(Code.FORBIDDEN, f"policy lets nobody {verb} this", "$.decision")
    for rule in rules:
        if not may_decide(rule, who):
            able = ", ".join(f"`{name}`" for name in required_approvals(rule))
            return refused(Code.FORBIDDEN, f"`{who.id}` may not decide it; it takes {able}", "$")
    if command.decision == "APPROVED" and any(word.approver == who.id for word in approval.approvals):
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
    edits_claims = command.decision == "MODIFIED" and approval.change is None
    if edits_claims != bool(command.claims):
        return refused(Code.INVALID_REQUEST, "`claims` go with MODIFIED, and only with it", "$.claims")
    if command.to_status is not None and (approval.change is None or command.decision != "MODIFIED"):
        text = "`to_status` goes with MODIFIED of an intent, and only with it"
        return refused(Code.INVALID_REQUEST, text, "$.to_status")
    return None


def _rejected(approval: Approval, command: DecideApproval, facts: Facts) -> ApprovalDecided:
    closed = _closed(approval, "rejected", by=facts.principal.id)
    if approval.candidate is not None:
        return _decided(command, facts, closed, None)
    reason = f"rejected by `{facts.principal.id}`" + (f": {command.reason}" if command.reason else "")
    judged = Gated(
        bundle=_ended(approval, reason), content_hash=approval.content_hash, results=approval.results
    )
    return _decided(command, facts, closed, judged)


def _resumed(approval: Approval, command: DecideApproval, facts: Facts) -> ApprovalDecided:
    """Run the chain again on the same content under today's policy and findings, with the person's word."""
    assert approval.bundle is not None  # noqa: S101 - it is pending
    answered = frozenset({*approval.approved_gates, approval.gate, "human"})
    given = gate_input(approval.bundle, approval.proposer, facts, None)
    judged = gated(
        run_gates(given, answered),
        approval.bundle,
        facts,
        approval.proposers,
        approval.proposer,
        (*approval.earlier, *approval.approvals),
        answered,
    )
    successor = None if judged.approval is None else judged.approval.approval_id
    return _decided(command, facts, _closed(approval, "approved", successor, facts.principal.id), judged)


def _resumed_proposal(
    session: Session, approval: Approval, command: DecideApproval, facts: Facts
) -> ApprovalDecided:
    """INVARIANT: what is confirmed is arbitrated again on today's state and policy, once."""
    result = confirmed(session, approval, facts)
    successor = None if result.approval is None else result.approval.approval_id
    closed = _closed(approval, "approved", successor, facts.principal.id)
    return replace(
        _decided(command, facts, closed, None), result=result, mode=changed_mode(session, facts, [result])
    )


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
    closed = _closed(approval, "modified", successor, facts.principal.id)
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


def _closed(approval: Approval, status: Any, successor: str | None = None, by: str | None = None) -> Approval:
    return replace(
        approval,
        status=status,
        bundle=None,
        call=None,
        delta=None,
        change=None,
        successor=successor,
        decided_by=by,
    )


def _ended(approval: Approval, reason: str) -> ClaimBundle:
    """The bundle of an approval that came to nothing."""
    assert approval.bundle is not None  # noqa: S101 - it is open
    return replace(approval.bundle, decision="REFUSE", reason=reason, audit_trail=_trail(approval))


def _waiting(approval: Approval, reason: str) -> ClaimBundle:
    """The bundle of an approval whose time ran out, and which still waits."""
    assert approval.bundle is not None  # noqa: S101 - it is open
    return replace(
        approval.bundle,
        decision="ESCALATE" if approval.escalated or approval.gate == "human" else "DEFER",
        reason=reason,
        required_approvals=required_approvals(approval.rule),
        audit_trail=_trail(approval),
    )


def _trail(approval: Approval) -> AuditTrail:
    """All gates that were asked let it pass, but for the last one."""
    asked = dict.fromkeys(result.gate for result in approval.results)
    return AuditTrail(
        gates_passed=tuple(gate for gate in asked if gate != approval.gate),
        gates_failed=(approval.gate,),
        human_approvals=(*approval.earlier, *approval.approvals),
    )


def _settled(approval: Approval) -> Refused:
    """Too late: tell what was decided and by whom, so that the second of two people knows."""
    if approval.status == "information":
        return refused(Code.CONFLICT, "it is for information; there is nothing to decide", "$.approval_id")
    by = "" if approval.decided_by is None else f", by `{approval.decided_by}`"
    return refused(
        Code.CONFLICT,
        f"approval `{approval.approval_id}` is {approval.status} already{by}",
        "$.approval_id",
        status=approval.status,
        decided_by=approval.decided_by,
        successor=approval.successor,
    )


def _no_such_approval(approval_id: str) -> Refused:
    return refused(Code.APPROVAL_NOT_FOUND, f"no approval `{approval_id}` in this session", "$.approval_id")
