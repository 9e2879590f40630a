"""What may be planned, run and linked. Evidence gets into a ledger through these or not at all."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.canonical import digest
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused, refused, refused_by
from beliefd.kernel.experiments.commands import DesignExperiment, LinkEvidence, RecordRun, StartRun
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned, RunRecorded, RunStarted
from beliefd.kernel.experiments.findings import ExperimentFindings
from beliefd.kernel.experiments.params import checked_spec
from beliefd.kernel.experiments.plan import Frozen, RunReport
from beliefd.kernel.experiments.state import Evidence, Experiment, Run
from beliefd.kernel.facts import Facts
from beliefd.kernel.scan.guards import stopped_by
from beliefd.kernel.scan.markers import find_marker
from beliefd.kernel.scan.words import WordList
from beliefd.kernel.speculation.lanes import join
from beliefd.kernel.speculation.state import HYPOTHESIS_PREFIX
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules
from beliefd.kernel.values import later

GRACE_SECONDS: Final = 60
"""So much longer than its budget a run may take to be told of, before it counts as lost."""


def design_experiment(
    session: Session, command: DesignExperiment, facts: Facts
) -> ExperimentDesigned | Refused:
    """INVARIANT: claim, criterion, alpha, seed and budget are hashed and recorded before the first draw."""
    spec = command.spec
    if (marked := find_marker(spec.params, WordList.RESIDUE)) is not None:
        at = replace(marked, path=f"$.params{marked.path[1:]}")
        return refused_by(stopped_by(at, Code.SPECULATIVE_RESIDUE))
    try:
        checked_spec(spec)
    except BeliefdError as error:
        return refused_by(error)
    for member in ("eliminates_if_supported", "eliminates_if_refuted"):
        for name in getattr(spec, member):
            if session.beliefs.survivors.universe.position(name) is None:
                text = f"not declared in this session: `{name[:64]}`"
                return refused(Code.INVALID_HYPOTHESIS_ID, text, f"$.{member}")
    if not isinstance(facts.findings, ExperimentFindings):
        return refused(Code.INVALID_REQUEST, f"no template `{spec.template}` is installed", "$.template")
    # INVARIANT: every try at a claim counts, and the chance of being wrong is shared out among all of them:
    # 1/2 + 1/6 + 1/12 + ... = 1.
    attempt: int = session.experiments.attempts.get(spec.claim_id, 0) + 1
    if attempt > facts.policy.firewall.attempts_per_claim:
        text = f"`{spec.claim_id[:64]}` has been tried {attempt - 1} times, and policy allows no more"
        return refused(Code.CONFLICT, text, "$.claim_id")
    alpha = min(spec.alpha, facts.policy.firewall.alpha) / (attempt * (attempt + 1))
    frozen = Frozen(
        spec=spec,
        template=facts.findings.template,
        code_hash=facts.findings.code_hash,
        attempt=attempt,
        alpha=alpha,
    )
    return ExperimentDesigned(experiment=_experiment(frozen, facts), frozen=frozen)


def _experiment(frozen: Frozen, facts: Facts) -> Experiment:
    spec = frozen.spec
    return Experiment(
        experiment_id=f"exp-{facts.event_id}",
        event_id=facts.event_id,
        claim_id=spec.claim_id,
        template=frozen.template,
        code_hash=frozen.code_hash,
        spec_hash=frozen.spec_hash,
        params_hash=digest(spec.params),
        seed=spec.seed,
        attempt=frozen.attempt,
        alpha=frozen.alpha,
        designed_by=facts.principal.id,
        designed_at=facts.now,
        budget_seconds=spec.budget.seconds,
        hints_digest=spec.hints_digest,
        eliminates_if_supported=spec.eliminates_if_supported,
        eliminates_if_refuted=spec.eliminates_if_refuted,
    )


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
    return RunRecorded(run=ended, report=report, evidence=evidence)


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
        lane=join((experiment.lane,)),
    )


def link_evidence(session: Session, command: LinkEvidence, facts: Facts) -> EvidenceLinked | Refused:
    """INVARIANT: what is linked was minted from a run of this ledger, for the claim that the run tested, in a
    role that its outcome gives it."""
    if command.run_id.startswith(HYPOTHESIS_PREFIX):
        text = f"`{command.run_id[:64]}` is a speculative hypothesis, and such cannot play evidence"
        return refused(Code.HYPOTHESIS_IS_NOT_EVIDENCE, text, "$.run_id")
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
    linked = replace(
        evidence,
        role=command.role,
        linked_by=facts.principal.id,
        linked_at=facts.now,
        revision=1 if proposition is None else proposition.revision,
    )
    doomed = _doomed(session, linked)
    return EvidenceLinked(
        evidence=linked,
        eliminated=tuple(name for name in doomed if name in session.beliefs.survivors),
        ignored=tuple(name for name in doomed if name not in session.beliefs.survivors),
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
    others = [
        session.experiments.evidence[name] for name in session.experiments.linked.get(evidence.claim_id, ())
    ]
    independent = [
        other
        for other in others
        if other.role in ("support", "replicate")
        and (other.template, other.seed) != (evidence.template, evidence.seed)
    ]
    return None if independent else "there is no other seed's or template's support that it could replicate"


def _doomed(session: Session, evidence: Evidence) -> list[str]:
    """INVARIANT: what falls was named before the outcome was known, and only solid evidence fells it."""
    experiment: Experiment = session.experiments.by_id[evidence.experiment_id]
    if not evidence.solid or evidence.role not in ("support", "refute"):
        return []
    supported = evidence.role == "support"
    return sorted({*(experiment.eliminates_if_supported if supported else experiment.eliminates_if_refuted)})


def _no_experiment(experiment_id: str) -> Refused:
    text = f"no experiment `{experiment_id[:64]}` in this session"
    return refused(Code.EXPERIMENT_NOT_FOUND, text, "$.experiment_id")


RULES: Final[Rules] = {
    DesignExperiment: design_experiment,
    StartRun: start_run,
    RecordRun: record_run,
    LinkEvidence: link_evidence,
}
