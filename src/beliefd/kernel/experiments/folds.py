"""How the events of experiments change the state of a session."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned, RunRecorded, RunStarted
from beliefd.kernel.experiments.state import tries_key
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Folds


def experiment_designed(session: Session, event: ExperimentDesigned) -> Session:
    held, one = session.experiments, event.experiment
    tries = held.tries
    for body in one.bodies:
        key = tries_key(body, one.designed_by)
        tries = tries.insert(key, tries.get(key, 0) + 1)
    held = replace(
        held,
        by_id=held.by_id.insert(one.experiment_id, one),
        attempts=held.attempts.insert(tries_key(one.claim_id, one.designed_by), one.attempt),
        tries=tries,
    )
    return replace(session, experiments=held)


def run_started(session: Session, event: RunStarted) -> Session:
    held, run = session.experiments, event.run
    experiment = replace(held.by_id[run.experiment_id], run_id=run.run_id)
    held = replace(
        held,
        runs=held.runs.insert(run.run_id, run),
        by_id=held.by_id.insert(run.experiment_id, experiment),
    )
    return replace(session, experiments=held)


def run_recorded(session: Session, event: RunRecorded) -> Session:
    """INVARIANT: evidence comes into being here, out of a run of this ledger, and in no other way."""
    held, minted = session.experiments, event.evidence
    held = replace(held, runs=held.runs.insert(event.run.run_id, event.run))
    if minted is not None:
        earlier: tuple[str, ...] = held.by_claim.get(minted.claim_id, ())
        held = replace(
            held,
            evidence=held.evidence.insert(minted.evidence_id, minted),
            by_claim=held.by_claim.insert(minted.claim_id, (*earlier, minted.evidence_id)),
        )
    return replace(session, experiments=held, intents=session.intents.changed_by((), event.propositions))


def witnessed_by(event: EvidenceLinked) -> int:
    """How many of the hypotheses that fell by evidence fell by witnessed evidence."""
    return len(event.eliminated) if event.evidence.witnessed else 0


def evidence_linked(session: Session, event: EvidenceLinked) -> Session:
    held, one = session.experiments, event.evidence
    held = replace(held, evidence=held.evidence.insert(one.evidence_id, one))
    return replace(
        session,
        experiments=held,
        beliefs=session.beliefs.without(event.eliminated, witnessed_by(event)),
        intents=session.intents.changed_by((), event.propositions),
    )


FOLDS: Final[Folds] = {
    ExperimentDesigned: experiment_designed,
    RunStarted: run_started,
    RunRecorded: run_recorded,
    EvidenceLinked: evidence_linked,
}
