"""From a claimed region and an estimate's errors to a decision: one rule for all templates that estimate."""

import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from beliefd.experiments.plan import Decision, Floats
from beliefd.kernel.experiments.plan import AtLeast, Criterion, FailureMode, Near, Ordered

MOST_TWO_SIDED, MOST_ONE_SIDED = 10.0, 100.0
Level = Callable[[float, bool], float]
"""The smallest alpha at which an estimate is shown to be on one side of a value (beyond it, if strict)."""


class Span(Struct, frozen=True):
    """A region as an interval. `strict` leaves its ends out."""

    low: float = -math.inf
    high: float = math.inf
    strict: bool = False

    def holds(self, values: Floats) -> NDArray[np.bool_]:
        """NaN lies in no region."""
        if self.strict:
            return (values > self.low) & (values < self.high)
        return (values >= self.low) & (values <= self.high)

    def inside(self, values: Floats) -> Floats:
        """How far inside: negative outside."""
        return np.minimum(values - self.low, self.high - values)


def beyond(value: float, above: bool) -> Span:
    """All that is above a value, or all that is below it; the value itself is not."""
    return Span(low=value, strict=True) if above else Span(high=value, strict=True)


def claimed(region: Criterion) -> Span:
    """The interval that a criterion claims. A share of replicates claims none: anything will do."""
    if isinstance(region, AtLeast):
        return Span()
    if isinstance(region, Ordered):
        return beyond(region.than, region.side == "above")
    if isinstance(region, Near):
        return Span(region.value - region.tolerance, region.value + region.tolerance)
    return Span(region.low, region.high)


def decided(support: float, refute: float, alpha: float) -> Decision:
    """INVARIANT: nothing is decided unless its error is at most alpha, and never both ways."""
    if min(support, refute) > alpha or support == refute:
        return Decision("unresolved", 1.0)
    return Decision("support", support) if support < refute else Decision("refute", refute)


def judged(span: Span, above: Level, below: Level, alpha: float) -> Decision:
    """Is the estimate shown to lie in the region, or shown to lie out of it?"""
    return decided(*shown(span, above, below), alpha)


def shown(span: Span, above: Level, below: Level) -> tuple[float, float]:
    """The levels at which the estimate is shown to lie in the region, and out of it.

    Both may use all of alpha, because in any one world only one of the two can be an error. A region with two
    ends can be left on two sides, which costs a factor of two.
    """
    support, refute, ends = 0.0, 1.0, 0
    if math.isfinite(span.low):
        support = max(support, above(span.low, span.strict))
        refute = min(refute, below(span.low, not span.strict))
        ends += 1
    if math.isfinite(span.high):
        support = max(support, below(span.high, span.strict))
        refute = min(refute, above(span.high, not span.strict))
        ends += 1
    return support, min(1.0, ends * refute)


def strictest(*levels: Level) -> Level:
    """What every one of several tests shows."""
    return lambda value, strict: max(level(value, strict) for level in levels)


def about(value: float, tolerance: float, mean: float) -> Span:
    """All that is within a tolerance: 1.1 is within 0.1 of 1.0, whatever binary fractions make of that."""
    reach = tolerance + 4 * float(np.spacing(max(abs(value), abs(mean))))
    return Span(value - reach, value + reach)


def slack(span: Span, values: Floats, bounds: tuple[float, float] | None = None) -> float | None:
    """How far inside of a region values are, where past 1 no values like these could have been outside.

    INVARIANT: what nothing could have refuted shows nothing. The measure is the largest value or the range,
    whichever is more: ten of them on both sides, or a hundred on one, is farther than data can tell of.
    """
    ends = [end for end in (span.low, span.high) if math.isfinite(end)]
    inside = float(span.inside(np.asarray(values.mean()))) if ends and len(values) else 0.0
    if inside <= 0:
        return 0.0 if ends else None
    # All zeros have no measure of their own. They get that of all ones, the other way to write the same down.
    scale = max(float(np.abs(values).max()), float(np.ptp(values))) or 1.0
    if bounds is not None:
        if span.low <= bounds[0] and bounds[1] <= span.high:
            return math.inf
        scale = max(scale, bounds[1] - bounds[0])
    return inside / ((MOST_TWO_SIDED if len(ends) > 1 else MOST_ONE_SIDED) * scale)


def differs(null: float, above: Level, below: Level, alpha: float) -> Decision:
    """Is the estimate shown to be another value than the null? That it is the null can never be shown so."""
    return decided(min(1.0, 2 * min(above(null, True), below(null, True))), 1.0, alpha)


def failure(decision: Decision, refuted: FailureMode, unresolved: FailureMode) -> FailureMode | None:
    """The word for what kept a claim from being supported, if anything did."""
    if decision.outcome == "support":
        return None
    return refuted if decision.outcome == "refute" else unresolved


def failure_of(span: Span, decision: Decision) -> FailureMode | None:
    """The same, by the region alone."""
    if math.isinf(span.low) or math.isinf(span.high):
        return failure(decision, "sign_flip", "null_effect")
    return failure(decision, "violated_assumption", "nonidentifiable")
