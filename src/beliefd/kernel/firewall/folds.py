"""How the firewall's events change the state of a session."""

from collections.abc import Iterable

from msgspec.structs import replace

from beliefd.kernel.firewall.artifacts import Intent, Proposition
from beliefd.kernel.firewall.events import (
    ClaimSpeculated,
    EvidenceLinked,
    ExperimentDesigned,
    IntentStaged,
    RunRecorded,
    RunStarted,
    Speculated,
)
from beliefd.kernel.state import Session


def speculated(session: Session, event: Speculated) -> Session:
    """INVARIANT: ideas go into the speculative parts of the state and nowhere else."""
    held, counts = session.speculative, session.speculated
    for one in event.hypotheses:
        held = held.insert(one.hypothesis_id, one)
        counts = counts.insert(one.claim_id, counts.get(one.claim_id, 0) + 1)
    return replace(session, speculative=held, speculated=counts)


def claim_speculated(session: Session, event: ClaimSpeculated) -> Session:
    return replace(session, speculative=session.speculative.insert(event.claim.intent_id, event.claim))


def experiment_designed(session: Session, event: ExperimentDesigned) -> Session:
    one = event.experiment
    return replace(
        session,
        experiments=session.experiments.insert(one.experiment_id, one),
        attempts=session.attempts.insert(one.claim_id, one.attempt),
    )


def run_started(session: Session, event: RunStarted) -> Session:
    run = event.run
    experiment = replace(session.experiments[run.experiment_id], run_id=run.run_id)
    return replace(
        session,
        runs=session.runs.insert(run.run_id, run),
        experiments=session.experiments.insert(run.experiment_id, experiment),
    )


def run_recorded(session: Session, event: RunRecorded) -> Session:
    """INVARIANT: evidence comes into being here, out of a run of this ledger, and in no other way."""
    session = replace(session, runs=session.runs.insert(event.run.run_id, event.run))
    if event.evidence is None:
        return session
    return replace(session, evidence=session.evidence.insert(event.evidence.evidence_id, event.evidence))


def evidence_linked(session: Session, event: EvidenceLinked) -> Session:
    one, gone = event.evidence, event.eliminated
    earlier: tuple[str, ...] = session.linked.get(one.claim_id, ())
    session = replace(
        session,
        evidence=session.evidence.insert(one.evidence_id, one),
        linked=session.linked.insert(one.claim_id, (*earlier, one.evidence_id)),
    )
    if not gone:
        return session
    return replace(
        session,
        survivors=session.survivors.without(gone),
        eliminations=session.eliminations + len(gone),
    )


def intent_staged(session: Session, event: IntentStaged) -> Session:
    changed = [event.intent] if event.superseded is None else [event.superseded, event.intent]
    if event.superseded is not None:
        session = _without_approval(session, event.superseded, event.intent)
    if event.approval is not None:
        approvals = session.approvals.insert(event.approval.approval_id, event.approval)
        session = replace(session, approvals=approvals)
    return with_intents(session, changed, event.propositions)


def with_intents(
    session: Session, intents: Iterable[Intent], propositions: Iterable[Proposition] = ()
) -> Session:
    """INVARIANT: a proposition changes together with the intent that was carried out, or not at all."""
    held, known = session.intents, session.propositions
    for intent in intents:
        held = held.insert(intent.intent_id, intent)
    for proposition in propositions:
        known = known.insert(proposition.claim_id, proposition)
    if held is session.intents and known is session.propositions:
        return session
    return replace(session, intents=held, propositions=known)


def _without_approval(session: Session, old: Intent, new: Intent) -> Session:
    """What waited for a word on the old intent does not wait any more."""
    approval = session.approvals.get(old.approval_id or "")
    if approval is None or approval.status != "pending":
        return session
    closed = replace(
        approval, status="superseded", change=None, successor=new.approval_id, decided_by=new.proposer.id
    )
    return replace(session, approvals=session.approvals.insert(approval.approval_id, closed))
