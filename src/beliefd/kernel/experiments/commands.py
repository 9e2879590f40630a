"""What can be asked about experiments and their evidence."""

from beliefd.kernel.experiments.plan import ExperimentSpec, RunReport
from beliefd.kernel.experiments.state import EvidenceRole
from beliefd.kernel.values import Id, Value


class DesignExperiment(Value, frozen=True, tag_field="verb", tag="DESIGN_EXPERIMENT"):
    """Freeze the plan of an experiment."""

    spec: ExperimentSpec


class StartRun(Value, frozen=True, tag_field="verb", tag="START_RUN"):
    """Ask to carry an experiment out."""

    experiment_id: Id


class RecordRun(Value, frozen=True, tag_field="verb", tag="RECORD_RUN"):
    """What became of a run that was let through."""

    run_id: Id
    report: RunReport


class LinkEvidence(Value, frozen=True, tag_field="verb", tag="LINK_EVIDENCE"):
    """Let the evidence of a run count for its claim. The run is named; what it came to is not asked."""

    claim_id: Id
    run_id: Id
    role: EvidenceRole


ExperimentCommand = DesignExperiment | StartRun | RecordRun | LinkEvidence
