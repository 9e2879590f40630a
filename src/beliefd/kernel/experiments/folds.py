"""How the events of experiments change the state of a session."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned, RunRecorded, RunStarted
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Folds


def experiment_designed(session: Session, event: ExperimentDesigned) -> Session:
    held, one = session.experiments, event.experiment
    held = replace(
        held,
        by_id=held.by_id.insert(one.experiment_id, one),
        attempts=held.attempts.insert(one.claim_id, one.attempt),
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
        held = replace(held, evidence=held.evidence.insert(minted.evidence_id, minted))
    return replace(session, experiments=held)


def evidence_linked(session: Session, event: EvidenceLinked) -> Session:
    held, one = session.experiments, event.evidence
    earlier: tuple[str, ...] = held.linked.get(one.claim_id, ())
    held = replace(
        held,
        evidence=held.evidence.insert(one.evidence_id, one),
        linked=held.linked.insert(one.claim_id, (*earlier, one.evidence_id)),
    )
    return replace(session, experiments=held, beliefs=session.beliefs.without(event.eliminated))


FOLDS: Final[Folds] = {
    ExperimentDesigned: experiment_designed,
    RunStarted: run_started,
    RunRecorded: run_recorded,
    EvidenceLinked: evidence_linked,
}
