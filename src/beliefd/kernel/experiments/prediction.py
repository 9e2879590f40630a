"""What a proposition says will be measured: fixed with its wording, and what every test of it refers to."""

from typing import Annotated, Any

import msgspec

from beliefd.kernel.experiments.params import (
    USUAL_SHARE,
    BayesianUpdate,
    EffectDirection,
    ModelSimulation,
    NumericConsistency,
    Params,
    Region,
    ThresholdCheck,
)
from beliefd.kernel.experiments.plan import AtLeast, Criterion, Finite, Near, Ordered, UnitName
from beliefd.kernel.observations.commands import Quantity
from beliefd.kernel.values import Id, Value


class Prediction(Value, frozen=True):
    """Which quantity, in which unit, lies where; and the range in which it can lie at all, if that is known.

    `at_least` is the share of cases in which a model's output must lie there. The last two members name the
    hypotheses of the session that fall by solid evidence for it, or against it.
    """

    quantity: Quantity
    criterion: Region
    unit: UnitName = "1"
    bounds: tuple[Finite, Finite] | None = None
    at_least: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    eliminates_if_supported: tuple[Id, ...] = ()
    eliminates_if_refuted: tuple[Id, ...] = ()

    def __post_init__(self) -> None:
        if {*self.eliminates_if_supported} & {*self.eliminates_if_refuted}:
            raise ValueError("what falls whatever the outcome is, falls without a test: name it once")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ValueError("`bounds` go from the lowest to the highest value that there can be")
        if self.bounds is not None and not _meets(self.criterion, *self.bounds):
            raise ValueError("no value within `bounds` lies in the region of the `criterion`")


def _meets(region: Region, low: float, high: float) -> bool:
    if isinstance(region, Ordered):
        return high > region.than if region.side == "above" else low < region.than
    if isinstance(region, Near):
        return region.value - region.tolerance <= high and region.value + region.tolerance >= low
    return region.low <= high and region.high >= low


def claimed_by(params: Params, criterion: Criterion | None) -> Region | None:
    """The region that a plan tests for; None if it tests for none."""
    if isinstance(params, NumericConsistency):
        return Near(value=params.claimed_value, tolerance=params.tolerance)
    if isinstance(params, ThresholdCheck):
        return Ordered(side=params.direction, than=params.threshold)
    if isinstance(params, EffectDirection):
        return _direction(params)
    if criterion is not None and not isinstance(criterion, AtLeast):
        return criterion
    return params.region if isinstance(params, BayesianUpdate | ModelSimulation) else None


def _direction(params: EffectDirection) -> Region:
    if params.expected == "zero":
        return Near(value=0.0, tolerance=params.negligible)
    if params.expected == "positive":
        return Ordered(side="above", than=params.negligible)
    return Ordered(side="below", than=-params.negligible)


def within(prediction: Prediction, low: float, high: float) -> tuple[float, float] | None:
    """The bounds that a test on values from `low` to `high` has: those that were predicted, unless the data
    show that they are wrong. So data that do not fit cannot be kept out by declaring that there are none."""
    bounds = prediction.bounds
    return bounds if bounds is not None and bounds[0] <= low and high <= bounds[1] else None


def differs_from(
    prediction: Prediction,
    bounds: tuple[float, float] | None,
    params: Params,
    criterion: Criterion | None,
    unit: str,
) -> tuple[str, Any] | None:
    """The first thing in which a plan tests for something else than was predicted, and what would fit."""
    share = criterion.at_least if isinstance(criterion, AtLeast) else None
    wanted = prediction.at_least
    if isinstance(params, ModelSimulation):
        share, wanted = share or USUAL_SHARE, wanted or USUAL_SHARE
    told: tuple[tuple[str, Any, Any], ...] = (
        ("criterion", claimed_by(params, criterion), prediction.criterion),
        ("unit", unit, prediction.unit),
        ("params.bounds", getattr(params, "bounds", None), bounds),
        ("criterion.at_least", share, wanted),
    )
    for name, tested, predicted in told:
        if tested != predicted:
            return name, msgspec.to_builtins(predicted)
    return None
