"""What a template is made of, and what passes between it and the engine."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from beliefd.kernel.experiments.params import Params
from beliefd.kernel.experiments.plan import Criterion, FailureMode, RunOutcome, TemplateName

Floats = NDArray[np.float64]
P = TypeVar("P", bound=Params)
BLOCK_NANOSECONDS: Final = 60e6
"""On a fast machine; a slow one takes three times as long."""
FIRST_BLOCK: Final = 2_048


class Plan(Struct, frozen=True, kw_only=True):
    """What of a frozen spec a template may know, with its parameters read."""

    template: TemplateName
    params: Params
    criterion: Criterion | None
    alpha: float
    seed: int
    unit: str
    replicates: int
    sources: Mapping[str, str] = {}
    """Model code by its hash, where the parameters name any."""

    def of(self, kind: type[P]) -> P:
        """The parameters as those of one template."""
        if not isinstance(self.params, kind):
            raise TypeError(f"a plan for {self.template} has no {kind.__name__}")
        return self.params


class Arm(Struct, frozen=True):
    """One series of replicates: the experiment itself, or one of the controls beside it.

    `cost` is the nominal price of a replicate in nanoseconds. INVARIANT: it depends on the plan alone,
    never on the machine, so the cut into blocks is the same everywhere.
    """

    name: str
    index: int
    replicates: int
    cost: float

    def blocks(self) -> list[tuple[int, int]]:
        """First replicate and count of each block: small ones first, so that a clear case can end early."""
        largest = max(1, int(BLOCK_NANOSECONDS / self.cost))
        size, first, found = min(FIRST_BLOCK, largest), 0, []
        while first < self.replicates:
            found.append((first, min(size, self.replicates - first)))
            first, size = first + size, min(largest, 2 * size)
        return found


class Decision(Struct, frozen=True):
    """An outcome and the smallest alpha at which it would still have been reached."""

    outcome: RunOutcome
    error_level: float


class Diagnosis(Struct, frozen=True, kw_only=True):
    """What a template found out about its own run, for the checks. None means: does not apply."""

    toy_error: float | None = None
    """How far off the known answer was, where at most 1 can be put down to chance."""
    variance: float | None = None
    """Of the observations, unless their range was declared; of a model's output."""
    unit_agrees: bool = True
    order_chance: float | None = None
    """The chance that neighbouring observations are as alike as they are, if the order means nothing."""
    effective_samples: float | None = None
    complete: bool = True
    slack: float | None = None
    """How far inside of what is claimed the estimate is; past 1 no such data could have been outside."""
    flips: tuple[str, ...] = ()
    """What changed the outcome when only the model around the claim was changed."""
    told: Mapping[str, Any] = {}
    """Whatever else is worth to be read in the report."""


class Findings(Struct, frozen=True, kw_only=True):
    """What a template concludes from its replicates."""

    model: str
    decision: Decision
    result: Struct
    diagnosis: Diagnosis
    failure_mode: FailureMode | None = None
    replicates: int = 0
    failed_replicates: int = 0
    stopped_early: bool = False
    bookkeeping: bool = False


Drawn = Mapping[str, Floats]


def no_main(_: Plan) -> Arm | None:
    """The decision is a formula's; only the controls beside it are drawn, if there are any."""
    return None


def no_controls(_: Plan, __: int) -> tuple[Arm, ...]:
    return ()


def no_draws(_: Plan, __: Arm, ___: int, ____: int) -> Floats:
    return np.empty((0, 1))


class Template(Struct, frozen=True, kw_only=True):
    """A way to test a claim. `draw` makes replicates of an arm, `conclude` decides by them."""

    name: TemplateName
    version: int = 1
    result: type[Struct]
    conclude: Callable[[Plan, Drawn], Findings]
    main: Callable[[Plan], Arm | None] = no_main
    draw: Callable[[Plan, Arm, int, int], Floats] = no_draws
    controls: Callable[[Plan, int], tuple[Arm, ...]] = no_controls
    """The arms beside the main one, once it is known how many replicates that took."""
    enough: Callable[[Plan, Floats], bool] | None = None
    """May the main arm end here? Only anytime-valid answers are allowed."""

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"
