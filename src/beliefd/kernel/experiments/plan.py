"""What an experiment is: a plan that is frozen before the first draw, and the report of one run of it."""

from typing import Annotated, Final, Literal

import msgspec

from beliefd.kernel import patterns
from beliefd.kernel.canonical import digest
from beliefd.kernel.values import Id, Object, Value

TemplateName = Literal[
    "bootstrap_ci",
    "bayesian_update",
    "threshold_check",
    "numeric_consistency",
    "sensitivity_suite",
    "contradiction_detect",
    "citation_check",
    "effect_direction",
    "model_simulation",
]
CheckName = Literal[
    "toy_model",
    "extremes",
    "dimensions",
    "independence",
    "effective_sample_size",
    "budget",
    "completeness",
    "sensitivity",
    "falsifiable",
]
RunOutcome = Literal["support", "refute", "unresolved"]
FailureMode = Literal["null_effect", "sign_flip", "violated_assumption", "nonidentifiable"]
Hex64 = Annotated[str, msgspec.Meta(pattern=patterns.SHA256)]
HintsDigest = Annotated[str, msgspec.Meta(pattern=patterns.HINTS_DIGEST)]
UnitName = Annotated[str, msgspec.Meta(pattern=patterns.UNIT)]
"""A unit of measurement such as `ms` or `kg/m^2`, `1` for a bare number; too short for a sentence."""
Seed = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Finite = Annotated[float, msgspec.Meta(ge=-1.7976931348623157e308, le=1.7976931348623157e308)]
DEFAULT_ALPHA: Final = 0.05


class AtLeast(Value, frozen=True, tag_field="region", tag="probability"):
    """The claim holds in at least this share of replicates."""

    at_least: Annotated[float, msgspec.Meta(gt=0, lt=1)]


class Within(Value, frozen=True, tag_field="region", tag="interval"):
    """The estimate lies between the two."""

    low: Finite
    high: Finite

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("`low` is larger than `high`: no estimate could lie between them")


class Ordered(Value, frozen=True, tag_field="region", tag="ordering"):
    """The estimate is on one side of a value."""

    side: Literal["above", "below"]
    than: Finite


class Near(Value, frozen=True, tag_field="region", tag="tolerance"):
    """The estimate is at most so far from a value."""

    value: Finite
    tolerance: Annotated[float, msgspec.Meta(ge=0, le=1.7976931348623157e308)]


Criterion = AtLeast | Within | Ordered | Near


class Budget(Value, frozen=True):
    """What a run may use. Past it the run ends, and counts as failed."""

    seconds: Annotated[float, msgspec.Meta(gt=0, le=30)] = 2.0
    replicates: Annotated[int, msgspec.Meta(ge=100, le=10_000_000)] = 2_000


class ExperimentSpec(Value, frozen=True):
    """The plan. There is no field for free text, so no hint's words can stand in it.

    `params` are those of the template, checked against its closed type before a spec is accepted. What the
    outcome eliminates of the session's hypotheses is said here, before anybody knows the outcome.
    """

    claim_id: Id
    template: TemplateName
    params: Object
    criterion: Criterion | None = None
    alpha: Annotated[float, msgspec.Meta(gt=0, le=0.5)] = DEFAULT_ALPHA
    seed: Seed = 0
    budget: Budget = Budget()
    unit: UnitName = "1"
    hints_digest: HintsDigest = ""
    eliminates_if_supported: tuple[Id, ...] = ()
    eliminates_if_refuted: tuple[Id, ...] = ()


class Frozen(Value, frozen=True):
    """A spec as the ledger froze it: which attempt at its claim it is, and how much alpha is left for it.

    INVARIANT: `spec_hash` covers all of it, and is recorded before the first draw.
    """

    spec: ExperimentSpec
    template: str
    code_hash: Hex64
    attempt: Annotated[int, msgspec.Meta(ge=1)]
    alpha: float

    @property
    def spec_hash(self) -> str:
        return digest(msgspec.to_builtins(self))


class Check(Value, frozen=True):
    """One question put to a run's own diagnostics; any that fails makes the run fragile."""

    name: CheckName
    passed: bool
    measured: Finite | None = None
    limit: Finite | None = None


class RunReport(Value, frozen=True):
    """What an executor tells of one run. Every number in it is finite; there is no user's text in it.

    `error_level` is the smallest alpha at which the outcome would still have been reached: under the stated
    `model`, a wrong outcome reaches a level that small with at most that chance. It is 1 where nothing was
    decided, and for `bookkeeping`: templates in which chance has no part, so that they bound no error.
    `blocks` digests the digests of all blocks of replicates, in order: it is the same on every executor.
    """

    status: Literal["completed", "failed", "cancelled"]
    spec_hash: Hex64
    template: str
    code_hash: Hex64
    seed: Seed
    model: str
    outcome: RunOutcome = "unresolved"
    error_level: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    failure_mode: FailureMode | None = None
    failure: str = ""
    result: Object = {}
    diagnostics: Object = {}
    checks: tuple[Check, ...] = ()
    replicates: Annotated[int, msgspec.Meta(ge=0)] = 0
    failed_replicates: Annotated[int, msgspec.Meta(ge=0)] = 0
    stopped_early: bool = False
    bookkeeping: bool = False
    blocks: str = ""

    @property
    def fragile(self) -> bool:
        return any(not check.passed for check in self.checks)

    @property
    def result_hash(self) -> str:
        """INVARIANT: a run again with the same seed has the same hash; how long it took is not in it."""
        return digest(msgspec.to_builtins(self))
