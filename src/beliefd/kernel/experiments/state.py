"""What experiments leave behind: frozen plans, runs, and the evidence that runs mint."""

from typing import Literal

import msgspec

from beliefd.kernel.experiments.plan import FailureMode, RunOutcome
from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.speculation.lanes import GROUNDED, Lane
from beliefd.kernel.values import Value

EvidenceRole = Literal["support", "refute", "undercut", "replicate"]
EvidenceKind = Literal["validation-evidence", "negative-evidence"]
RunStatus = Literal["running", "completed", "failed", "cancelled"]


class Experiment(Value, frozen=True):
    """A plan that was frozen. The plan itself stands in the event that `event_id` names."""

    experiment_id: str
    event_id: str
    claim_id: str
    template: str
    code_hash: str
    spec_hash: str
    params_hash: str
    seed: int
    attempt: int
    alpha: float
    designed_by: str
    designed_at: str
    budget_seconds: float
    hints_digest: str = ""
    eliminates_if_supported: tuple[str, ...] = ()
    eliminates_if_refuted: tuple[str, ...] = ()
    run_id: str | None = None
    lane: Lane = GROUNDED


class Run(Value, frozen=True):
    """One execution of an experiment; `event_id` names the event that holds its report, once there is one."""

    run_id: str
    experiment_id: str
    status: RunStatus
    started_by: str
    started_at: str
    deadline: str
    event_id: str | None = None
    result_hash: str | None = None
    evidence_id: str | None = None
    outcome: RunOutcome | None = None
    fragile: bool = False
    failure: str = ""


class Evidence(Value, frozen=True):
    """What a run says about its claim. `success` is that of the run; `outcome` is what it came to.

    With `bookkeeping` it is as good as the labels that its caller gave, and moves nothing.
    It counts for nothing until it is linked with a `role`. `revision` is that of the proposition's wording
    when it was linked: a new wording needs new evidence. `lane` is the join of its inputs' labels.
    """

    evidence_id: str
    kind: EvidenceKind
    claim_id: str
    template: str
    experiment_id: str
    execution_id: str
    success: bool
    outcome: RunOutcome
    confidence: float
    error_level: float
    fragile: bool
    seed: int
    params_hash: str
    result_hash: str
    spec_hash: str
    model: str
    minted_at: str
    failure_mode: FailureMode | None = None
    strength: float | None = None
    role: EvidenceRole | None = None
    linked_by: str | None = None
    linked_at: str | None = None
    revision: int = 0
    bookkeeping: bool = False
    lane: Lane = GROUNDED

    @property
    def solid(self) -> bool:
        """Can it carry a status? Not if a check failed, and not if it only counted what it was told."""
        return not self.fragile and not self.bookkeeping


class Experiments(Part, frozen=True):
    """The experiments of a session.

    `attempts` counts how often a claim was put to the test; `linked` is the evidence that counts for it.
    """

    by_id: Growing[Experiment] = msgspec.field(default=EMPTY, name="experiments")
    attempts: Growing[int] = EMPTY
    runs: Growing[Run] = EMPTY
    evidence: Growing[Evidence] = EMPTY
    linked: Growing[tuple[str, ...]] = EMPTY
