"""Giving evidence a role, and what falls by it. Whether it counts is not asked here: all of it does."""

from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.experiments.commands import LinkEvidence
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.experiments.state import Evidence, Experiment
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.warrant import Warrant, counted, fallen, warrant_of
from beliefd.kernel.labels import WITNESSED, vouched_by
from beliefd.kernel.policy import FirewallPolicy
from beliefd.kernel.state import Session
from beliefd.kernel.values import PEOPLE


def link_evidence(session: Session, command: LinkEvidence, facts: Facts) -> EvidenceLinked | Refused:
    """INVARIANT: what is linked was minted from a run of this ledger, for the claim that the run tested, in a
    role that its outcome gives it."""
    run = session.experiments.runs.get(command.run_id)
    if run is None:
        return refused(Code.RUN_NOT_FOUND, f"no run `{command.run_id[:64]}` in this session", "$.run_id")
    if run.evidence_id is None:
        return refused(Code.CONFLICT, f"the run is {run.status}: it has minted no evidence", "$.run_id")
    evidence: Evidence = session.experiments.evidence[run.evidence_id]
    if evidence.claim_id != command.claim_id:
        text = f"that run tested `{evidence.claim_id}`, and is evidence for nothing else"
        return refused(Code.CONFLICT, text, "$.claim_id")
    if evidence.role is not None:
        text = f"it is linked already, as `{evidence.role}`"
        return refused(Code.CONFLICT, text, "$.run_id", evidence_id=evidence.evidence_id)
    if (problem := _wrong_role(session, evidence, command.role)) is not None:
        return refused(Code.NOT_WARRANTED, problem, "$.role", outcome=evidence.outcome)
    proposition = session.intents.propositions.get(command.claim_id)
    believed = proposition is not None and proposition.status in ("supported", "proven")
    if command.role == "undercut" and believed and facts.principal.role not in PEOPLE:
        # INVARIANT: a program lowers a status by evidence against it, never by evidence that says nothing.
        return refused(Code.FORBIDDEN, "to undercut what is believed takes a person", "$.role")
    linked = replace(evidence, role=command.role, linked_by=facts.principal.id, linked_at=facts.now)
    return _linked(session, linked, facts)


def _linked(session: Session, linked: Evidence, facts: Facts) -> EvidenceLinked:
    policy = facts.policy.firewall
    pieces = [
        linked if one.evidence_id == linked.evidence_id else one for one in counted(session, linked.claim_id)
    ]
    found = warrant_of(pieces, policy)
    named = _named(session, linked)
    counts = any(piece.evidence_id == linked.evidence_id for piece in pieces)
    withheld = _withheld(linked, counts, found, policy) if named else ""
    if named and not linked.witnessed and facts.policy.beliefs.eliminations.require == WITNESSED:
        withheld = withheld or "its data are attested, and policy takes witnessed eliminations only"
    doomed = [] if withheld else named
    return EvidenceLinked(
        evidence=linked,
        eliminated=tuple(name for name in doomed if name in session.beliefs.survivors),
        ignored=tuple(name for name in doomed if name not in session.beliefs.survivors),
        withheld=withheld,
        propositions=fallen(session, linked.claim_id, found, facts.now),
    )


def _wrong_role(session: Session, evidence: Evidence, role: str) -> str | None:
    if role == "undercut":
        weak = evidence.fragile or evidence.outcome == "unresolved"
        return None if weak else f"it did not leave the question open: it came to `{evidence.outcome}`"
    if role == "refute":
        return None if evidence.outcome == "refute" else f"the run came to `{evidence.outcome}`"
    if evidence.outcome != "support":
        return f"the run came to `{evidence.outcome}`"
    if role == "support":
        return None
    independent = [
        other
        for other in counted(session, evidence.claim_id)
        if other.outcome == "support" and other.solid and not {*other.bodies} & {*evidence.bodies}
    ]
    return None if independent else "there is no support from other data that it could replicate"


def _named(session: Session, evidence: Evidence) -> list[str]:
    """INVARIANT: what falls was named before the outcome was known."""
    experiment: Experiment = session.experiments.by_id[evidence.experiment_id]
    if evidence.role == "undercut":
        return []
    supported = evidence.role != "refute"
    return sorted({*(experiment.eliminates_if_supported if supported else experiment.eliminates_if_refuted)})


def _withheld(evidence: Evidence, counts: bool, found: Warrant, policy: FirewallPolicy) -> str:
    """INVARIANT: a hypothesis falls only by solid evidence, of a test that was worded before data that
    somebody else has witnessed, and only if all other evidence agrees."""
    if not evidence.solid:
        return "the evidence is fragile, or bookkeeping"
    if not counts:
        return "it tested no wording that stands now"
    if not policy.attested.eliminates:
        if not evidence.witnessed:
            whose = vouched_by(evidence.typed_by)
            return f"its data are attested ({whose}), and policy lets such eliminate nothing"
        if not evidence.worded_first:
            return "the claim was worded after its data, and policy lets such eliminate nothing"
    agrees = ("refuted",) if evidence.role == "refute" else ("supported", "proven")
    return "" if found.status in agrees else f"all the evidence together warrants `{found.status}`"
