"""What the firewall's events leave behind: hypotheses, experiments, runs, evidence, intents, propositions."""

from typing import Annotated, Any, Final, Literal

import msgspec

from beliefd.kernel.claims.bundle import Text, Unit
from beliefd.kernel.firewall.experiments import FailureMode, Outcome
from beliefd.kernel.firewall.lanes import GROUNDED, SPECULATIVE, Lane
from beliefd.kernel.values import Id, Principal, Value

EpistemicStatus = Literal["proven", "supported", "unresolved", "speculative", "refuted"]
EvidenceRole = Literal["support", "refute", "undercut", "replicate"]
EvidenceKind = Literal["validation-evidence", "negative-evidence"]
RunStatus = Literal["running", "completed", "failed", "cancelled"]
IntentType = Literal[
    "create_claim",
    "create_proposition",
    "update_epistemic_status",
    "refute_claim",
    "revise_proposition",
    "fork_proposition",
    "quarantine_proposition",
    "record_metric",
    "record_trace",
]
IntentState = Literal[
    "staged",
    "awaiting_approval",
    "approved",
    "rejected",
    "deferred",
    "cancelled",
    "expired",
    "superseded",
    "executed",
    "failed",
]
INTENT_LANES: Final[dict[str, Lane]] = {
    "create_claim": SPECULATIVE,
    "create_proposition": GROUNDED,
    "update_epistemic_status": GROUNDED,
    "refute_claim": GROUNDED,
    "revise_proposition": GROUNDED,
    "fork_proposition": GROUNDED,
    "quarantine_proposition": GROUNDED,
    "record_metric": GROUNDED,
    "record_trace": GROUNDED,
}
"""INVARIANT: what has no lane here has none at all, and an intent without a lane is denied."""
HYPOTHESIS_PREFIX: Final = "shyp-"


class Alternative(Value, frozen=True):
    """An idea, as its author puts it. It may be anything; that is why it stays in its lane."""

    statement: Text
    mechanism: Annotated[str, msgspec.Meta(max_length=20_000)] = ""
    prediction: Annotated[str, msgspec.Meta(max_length=20_000)] = ""
    confidence: Unit | None = None


class Hypothesis(Value, frozen=True, tag_field="artifact", tag="speculative-hypothesis"):
    """A speculative hypothesis: scoped to its session, and of no weight there either."""

    hypothesis_id: str
    claim_id: str
    alternative: Alternative
    proposed_by: str
    proposed_at: str
    targets_proposition: bool
    lane: Literal["speculative"] = "speculative"


class SpeculativeClaim(Value, frozen=True, tag_field="artifact", tag="speculative-claim"):
    """A claim that somebody would like to see tested. It has the status `speculative`, and no way up."""

    intent_id: str
    claim_id: str
    statement: str
    proposed_by: str
    proposed_at: str
    lane: Literal["speculative"] = "speculative"


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
    outcome: Outcome | None = None
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
    outcome: Outcome
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


class Proposition(Value, frozen=True):
    """A testable claim with its epistemic status, and the intent and evidence that gave it."""

    claim_id: str
    statement: str
    status: EpistemicStatus
    created_at: str
    created_by: str
    changed_at: str
    intent_id: str
    evidence_ids: tuple[str, ...] = ()
    revision: int = 1
    forked_from: str | None = None
    quarantined: bool = False
    lane: Literal["grounded"] = "grounded"


class Change(Value, frozen=True):
    """What an intent would do. Which members it needs depends on its type."""

    type: IntentType
    claim_id: Id
    statement: Text | None = None
    to_status: EpistemicStatus | None = None
    evidence_ids: tuple[Id, ...] = ()
    new_claim_id: Id | None = None
    values: dict[str, Any] = {}
    reason: Annotated[str, msgspec.Meta(max_length=2_000)] = ""


class Step(Value, frozen=True):
    """One step of an intent's life."""

    state: IntentState
    at: str
    by: str
    why: str = ""


class Intent(Value, frozen=True):
    """A wish to change what is believed, and what became of it."""

    intent_id: str
    lane: Lane
    change: Change
    proposer: Principal
    history: tuple[Step, ...]
    expires_at: str
    approval_id: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None

    @property
    def state(self) -> IntentState:
        return self.history[-1].state
