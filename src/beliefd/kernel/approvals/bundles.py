"""What a decision means for a bundle of claims: it is published, edited, refused, or goes on waiting."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.eligibility import required_approvals
from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.approvals.shaping import shaped, shapers
from beliefd.kernel.approvals.standing import are_compared, names_of, of_now
from beliefd.kernel.approvals.state import Approval, BundleSubject, InformationSubject
from beliefd.kernel.approvals.words import (
    agreed,
    answered_gates,
    decided,
    heard,
    not_offered,
    proposers_of_edit,
)
from beliefd.kernel.claims.actions import unknown_action
from beliefd.kernel.claims.bundle import AuditTrail, ClaimBundle, GateOverride, edited_bundle, filled
from beliefd.kernel.claims.ending import cannot_correct, with_correction
from beliefd.kernel.claims.events import Gated
from beliefd.kernel.claims.gates import GATES, ChainResult, run_gates
from beliefd.kernel.claims.gates.result import says
from beliefd.kernel.claims.gates.uncertainty import GATE as UNCERTAINTY
from beliefd.kernel.claims.judging import Answered, gate_input, gated
from beliefd.kernel.claims.resolving import counts, unsaid
from beliefd.kernel.event import Refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.measurements.state import gist_digest, words_digest
from beliefd.kernel.state import Session
from beliefd.kernel.subjects import undeclared

VOID: Final = "void"
"""The limit in what is said of a measurement that does not hold any more."""


def decide(
    session: Session, approval: Approval, command: DecideApproval, facts: Facts
) -> ApprovalDecided | Refused:
    if command.decision == "MODIFIED":
        return _modified(session, approval, command, facts)
    if command.decision == "DEFERRED":
        return not_offered(approval)
    told = heard(approval, command, facts)
    if command.decision == "REJECTED":
        return _rejected(told, command, facts)
    if not agreed(session, told, facts):
        return decided(command, facts, told)
    return _resumed(session, told, command, facts)


def close(_: Session, event: ApprovalClosed, approval: Approval, why: str, __: Facts) -> ApprovalClosed:
    if event.outcome == "lapse":
        return replace(event, bundle=waiting_bundle(approval))
    if event.outcome in ("withdrawn", "refuse"):
        return replace(event, bundle=_refused(approval, why))
    return replace(event, bundle=_still_waiting(event.successor or approval, why))


def waiting_bundle(approval: Approval) -> ClaimBundle:
    subject = approval.subject
    assert isinstance(subject, BundleSubject | InformationSubject)  # noqa: S101 - asked by who calls this
    assert subject.bundle is not None  # noqa: S101 - it is open
    return subject.bundle


def _rejected(approval: Approval, command: DecideApproval, facts: Facts) -> ApprovalDecided:
    why = f"rejected by `{facts.principal.id}`" + (f": {command.reason}" if command.reason else "")
    judged = Gated(
        bundle=_refused(approval, why),
        content_hash=approval.content_hash,
        results=approval.results,
        standings=approval.standings,
        raised=approval.raised,
    )
    closed = approval.closed("rejected", by=facts.principal.id)
    return replace(decided(command, facts, closed), gated=judged)


def _resumed(
    session: Session, approval: Approval, command: DecideApproval, facts: Facts
) -> ApprovalDecided | Refused:
    """Run the chain again on the same content under today's policy and findings, with the person's word."""
    bundle, approval = waiting_bundle(approval), of_now(approval, facts)
    # What it corrects may have ended since: then there is nothing to publish, and it can still be rejected.
    if (problem := cannot_correct(session, bundle, facts, approval.proposer)) is not None:
        return problem
    gates = answered_gates(session, approval, facts)
    given = gate_input(bundle, session, approval.proposer, facts, approval.proposers)
    chain = run_gates(given, gates, approval.results if are_compared(facts) else None)
    gates -= chain.asking_again
    chain = replace(chain, results=(*chain.results, *(one for one in approval.results if one.limit == VOID)))
    answered = Answered((*approval.earlier, *approval.approvals), gates, overrides(approval, chain))
    judged = gated(chain, given, facts, approval.proposers, approval.proposer, answered)
    judged = with_correction(session, judged, facts, approval.proposer.id)
    successor = None if judged.approval is None else judged.approval.approval_id
    closed = approval.closed("approved", successor, facts.principal.id)
    return replace(decided(command, facts, closed), gated=judged)


def overrides(approval: Approval, chain: ChainResult) -> tuple[GateOverride, ...]:
    """The gates that were overridden, each with those who said yes to the item that it had opened."""
    said_yes = {one.gate: one.by for one in approval.overridden or ()}
    said_yes |= dict.fromkeys(approval.asking, tuple(word.approver for word in approval.approvals))
    # Items that are older than this list do not say who answered which gate: all that said yes before.
    before = tuple(dict.fromkeys(word.approver for word in approval.earlier if word.decision == "APPROVED"))
    return tuple(GateOverride(gate=gate, by=said_yes.get(gate, before)) for gate in chain.overridden)


def _modified(
    session: Session, approval: Approval, command: DecideApproval, facts: Facts
) -> ApprovalDecided | Refused:
    if (problem := undeclared(session, command.claims)) is not None:
        return problem
    approval = of_now(approval, facts)
    edited = filled(edited_bundle(waiting_bundle(approval), command.claims), facts.event_id, facts.now)
    proposers = proposers_of_edit(approval, facts)
    problem = (
        unknown_action(session, edited, facts)
        or unsaid(edited.claims, session.measurements, proposers)
        or cannot_correct(session, edited, facts, approval.proposer)
    )
    if problem is not None:
        return problem
    given = gate_input(edited, session, approval.proposer, facts, proposers)
    chain = with_void(run_gates(given), approval, edited, session)
    if chain.stopped_by is None:
        # What a person was called for does not slip out because it was edited: a person sees the edit too.
        chain = replace(
            chain,
            stopped_by="human",
            asking=("human",),
            passed=tuple(gate for gate in chain.passed if gate != "human"),
            decision="ESCALATE",
            reason="human gate: an edited bundle needs another person",
        )
    judged = gated(chain, given, facts, proposers, approval.proposer)
    people = (*sorted(shapers(session, approval, facts)), *names_of(facts.principal, facts))
    judged = replace(judged, shaped=shaped(edited, people, facts))
    successor = None if judged.approval is None else judged.approval.approval_id
    why = f"modified by `{facts.principal.id}`, see bundle `{edited.id}`"
    closed = approval.closed("modified", successor, facts.principal.id)
    return replace(decided(command, facts, closed), gated=judged, replaced=_refused(approval, why))


def with_void(chain: ChainResult, approval: Approval, edited: ClaimBundle, session: Session) -> ChainResult:
    """INVARIANT: what was measured of other words is said to be void; it does not just go away."""
    kept = {words_digest(claim.statement) for claim in edited.claims}
    by_id = {claim.id: claim for claim in edited.claims}
    told = []
    for old in waiting_bundle(approval).claims:
        receipts = session.measurements.about(gist_digest(old.statement))
        known = [one for one in receipts if counts(one, approval.proposers)]
        if known and words_digest(old.statement) not in kept:
            value = max(one.value for one in known)
            reason = f"the measured uncertainty of {value} was of other words and is void"
            told.append(says(UNCERTAINTY, "EXPLAIN", reason, VOID, value, by_id.get(old.id)))
    return replace(chain, results=(*chain.results, *told))


def _refused(approval: Approval, why: str) -> ClaimBundle:
    """The bundle of an approval that came to nothing."""
    return replace(
        waiting_bundle(approval), decision="REFUSE", reason=why, audit_trail=_audit_trail(approval)
    )


def _still_waiting(approval: Approval, why: str) -> ClaimBundle:
    """The bundle of an approval whose time ran out, and which still waits."""
    return replace(
        waiting_bundle(approval),
        decision="ESCALATE" if approval.escalated or approval.gate == "human" else "DEFER",
        reason=why,
        required_approvals=required_approvals(approval.rule),
        audit_trail=_audit_trail(approval),
    )


def _audit_trail(approval: Approval) -> AuditTrail:
    """All gates before the one that stopped it let it pass, but for those that people overrode."""
    names = list(GATES)
    overridden = {one.gate for one in approval.overridden or ()}
    before = names[: names.index(approval.gate)]
    return AuditTrail(
        gates_passed=tuple(gate for gate in before if gate not in overridden),
        gates_failed=(approval.gate,),
        human_approvals=(*approval.earlier, *approval.approvals),
        gates_overridden=approval.overridden,
    )
