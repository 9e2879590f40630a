"""What may be planned, run and linked. Evidence gets into a ledger through these or not at all."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused, refused_by
from beliefd.kernel.experiments.commands import DesignExperiment, LinkEvidence, RecordRun, StartRun
from beliefd.kernel.experiments.designing import design_experiment
from beliefd.kernel.experiments.events import RunRecorded, RunStarted
from beliefd.kernel.experiments.findings import ExperimentFindings
from beliefd.kernel.experiments.linking import link_evidence
from beliefd.kernel.experiments.plan import RunReport
from beliefd.kernel.experiments.state import Evidence, Experiment, Run
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.state import Proposition
from beliefd.kernel.intents.warrant import counted, fallen, warrant_of
from beliefd.kernel.limits import RUNNING, over_limit
from beliefd.kernel.scan.guards import stopped_by
from beliefd.kernel.scan.markers import find_marker
from beliefd.kernel.speculation.lanes import join
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules
from beliefd.kernel.values import later

GRACE_SECONDS: Final = 60
"""So much longer than its budget a run may take to be told of, before it counts as lost."""


def start_run(session: Session, command: StartRun, facts: Facts) -> RunStarted | Refused:
    """INVARIANT: one plan has one result. Only a run that came to nothing can be made again."""
    experiment = session.experiments.by_id.get(command.experiment_id)
    if experiment is None:
        return _no_experiment(command.experiment_id)
    earlier = None if experiment.run_id is None else session.experiments.runs[experiment.run_id]
    if earlier is not None and earlier.status in ("running", "completed"):
        text = f"run `{earlier.run_id}` is {earlier.status} already; another try is another experiment"
        return refused(Code.CONFLICT, text, "$.experiment_id", run_id=earlier.run_id)
    found = facts.findings
    if not isinstance(found, ExperimentFindings) or found.code_hash != experiment.code_hash:
        text = f"the code of `{experiment.template}` is not what it was when the plan was frozen"
        return refused(Code.CONFLICT, text, "$.experiment_id")
    limit = facts.policy.bounds.running_experiments
    if (problem := over_limit(RUNNING, found.running, limit, "$.experiment_id")) is not None:
        return problem
    run = Run(
        run_id=f"run-{facts.event_id}",
        experiment_id=experiment.experiment_id,
        status="running",
        started_by=facts.principal.id,
        started_at=facts.now,
        deadline=later(facts.now, experiment.budget_seconds + GRACE_SECONDS),
    )
    return RunStarted(run=run)


def record_run(session: Session, command: RecordRun, facts: Facts) -> RunRecorded | Refused:
    """INVARIANT: a report counts only for a run that was let through, once, and only if it is of the frozen
    plan, its seed and its code."""
    run, report = session.experiments.runs.get(command.run_id), command.report
    if run is None:
        return refused(Code.RUN_NOT_FOUND, f"no run `{command.run_id[:64]}` was let through", "$.run_id")
    if run.status != "running":
        return refused(Code.CONFLICT, f"the run is {run.status} already", "$.run_id")
    experiment = session.experiments.by_id[run.experiment_id]
    for member in ("spec_hash", "code_hash", "template", "seed"):
        if getattr(report, member) != getattr(experiment, member):
            text = f"the report's `{member}` is not that of the experiment"
            return refused(Code.CONFLICT, text, f"$.report.{member}")
    if (marked := find_marker([report.result, report.diagnostics])) is not None:
        return refused_by(stopped_by(marked, Code.SPECULATIVE_EVIDENCE))
    evidence = _minted(experiment, run, report, facts)
    propositions: tuple[Proposition, ...] = ()
    if evidence is not None:
        pieces = counted(session, evidence.claim_id, evidence)
        # INVARIANT: when status and evidence part, the status falls by itself; up it goes only by a person.
        found = warrant_of(pieces, facts.policy.firewall)
        propositions = fallen(session, evidence.claim_id, found, facts.now)
    ended = replace(
        run,
        status=report.status,
        event_id=facts.event_id,
        result_hash=report.result_hash,
        evidence_id=None if evidence is None else evidence.evidence_id,
        outcome=None if evidence is None else report.outcome,
        fragile=report.fragile,
        failure=report.failure,
    )
    return RunRecorded(run=ended, report=report, evidence=evidence, propositions=propositions)


def _minted(experiment: Experiment, run: Run, report: RunReport, facts: Facts) -> Evidence | None:
    if report.status != "completed":
        return None
    refutes = report.outcome == "refute"
    return Evidence(
        evidence_id=f"ev-{facts.event_id}",
        kind="negative-evidence" if refutes else "validation-evidence",
        claim_id=experiment.claim_id,
        template=report.template,
        experiment_id=experiment.experiment_id,
        execution_id=run.run_id,
        success=refutes or report.outcome == "support",
        outcome=report.outcome,
        confidence=report.confidence,
        error_level=report.error_level,
        fragile=report.fragile,
        seed=report.seed,
        params_hash=experiment.params_hash,
        result_hash=report.result_hash,
        spec_hash=report.spec_hash,
        model=report.model,
        minted_at=facts.now,
        failure_mode=report.failure_mode if refutes else None,
        strength=report.confidence if refutes else None,
        bookkeeping=report.bookkeeping,
        revision=experiment.revision,
        label=experiment.label,
        bodies=experiment.bodies,
        typed_by=experiment.typed_by,
        worded_first=experiment.worded_first,
        tries=experiment.tries,
        lane=join((experiment.lane,)),
    )


def _no_experiment(experiment_id: str) -> Refused:
    text = f"no experiment `{experiment_id[:64]}` in this session"
    return refused(Code.EXPERIMENT_NOT_FOUND, text, "$.experiment_id")


RULES: Final[Rules] = {
    DesignExperiment: design_experiment,
    StartRun: start_run,
    RecordRun: record_run,
    LinkEvidence: link_evidence,
}
