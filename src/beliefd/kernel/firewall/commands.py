"""What can be asked of the firewall, as commands."""

from typing import Annotated

import msgspec

from beliefd.kernel.firewall.artifacts import Alternative, Change, EvidenceRole
from beliefd.kernel.firewall.experiments import ExperimentSpec, RunReport
from beliefd.kernel.values import Id, Value


class Speculate(Value, frozen=True, tag_field="verb", tag="SPECULATE"):
    """Note alternatives to a claim, in the lane where nothing counts."""

    claim_id: Id
    hypotheses: Annotated[tuple[Alternative, ...], msgspec.Meta(min_length=1, max_length=100)]


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


class StageIntent(Value, frozen=True, tag_field="verb", tag="STAGE_INTENT"):
    """Ask for a change of what is believed."""

    change: Change
    supersedes: Id | None = None
