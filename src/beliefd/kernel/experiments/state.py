"""What experiments leave behind: frozen plans, runs, and the evidence that runs mint."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from beliefd.kernel.experiments.plan import FailureMode, RunOutcome
from beliefd.kernel.labels import ATTESTED, WITNESSED, Label, join, label_for
from beliefd.kernel.observations.state import Observation
from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.speculation.lanes import GROUNDED, Lane
from beliefd.kernel.values import Value

EvidenceRole = Literal["support", "refute", "undercut", "replicate"]
EvidenceKind = Literal["validation-evidence", "negative-evidence"]
RunStatus = Literal["running", "completed", "failed", "cancelled"]


class Experiment(Value, frozen=True):
    """A plan that was frozen. The plan itself stands in the event that `event_id` names.

    `revision` is that of the proposition whose prediction it tests; 0 if it tests none, and then what comes
    of it counts for nothing. `label` joins those of its `observations`, `bodies` are what these were taken
    from. `worded_first` is whether the wording stood before the data did. `tries` is how many tests its
    designer has made on that data, this one included; `left_out` how many results of the same tools are not
    among its data; `choices` among how many lists of numbers its data were chosen. The more of any of these,
    the smaller `alpha`.
    """

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
    revision: int = 0
    label: Label = ATTESTED
    observations: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()
    typed_by: tuple[str, ...] = ()
    worded_first: bool = False
    tries: int = 1
    left_out: int = 0
    choices: int = 1
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
    It counts for its claim as soon as it is there: `role` says what for, once somebody has linked it.
    `revision` is that of the wording that was tested: a new wording needs new evidence. `label`, `bodies`,
    `typed_by`, `worded_first` and `tries` are those of its experiment. `lane` joins those of its inputs.
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
    label: Label = ATTESTED
    bodies: tuple[str, ...] = ()
    typed_by: tuple[str, ...] = ()
    worded_first: bool = False
    tries: int = 1
    lane: Lane = GROUNDED

    @property
    def witnessed(self) -> bool:
        return self.label == WITNESSED

    @property
    def solid(self) -> bool:
        """Can it carry a status? Not if a check failed, and not if it only counted what it was told."""
        return not self.fragile and not self.bookkeeping


class Experiments(Part, frozen=True):
    """The experiments of a session.

    `attempts` counts how often a principal put a claim to the test (`<claim> <principal>`), `tries` how often
    anything on a body of data (`<body> <principal>`). `by_claim` is all the evidence there is for a claim.
    """

    by_id: Growing[Experiment] = msgspec.field(default=EMPTY, name="experiments")
    attempts: Growing[int] = EMPTY
    runs: Growing[Run] = EMPTY
    evidence: Growing[Evidence] = EMPTY
    tries: Growing[int] = EMPTY
    by_claim: Growing[tuple[str, ...]] = EMPTY

    def label_of(self, evidence: Evidence, observations: Mapping[str, Observation], *who: str) -> Label:
        """What evidence is worth to those who cite it. Its own label is for who designed it, and who brought
        its data is no witness when he cites it."""
        data = self.by_id[evidence.experiment_id].observations
        return join((evidence.label, *(label_for(observations[one].witnesses, *who) for one in data)))


class TestedData(Value, frozen=True):
    """How often a principal has tested anything on a body of data."""

    __test__ = False  # its name begins like that of a test, and it is none

    key: str
    tries: int


def tries_key(body: str, principal: str) -> str:
    """Under which a principal's tests are counted. Pairs that share a key count together, which is safe."""
    return f"{body} {principal}"
