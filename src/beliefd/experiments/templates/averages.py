"""What the templates about the mean of observations share: arms, diagnosis, and how they conclude."""

from typing import Final

import numpy as np
from msgspec import Struct
from scipy.special import ndtri

from beliefd.experiments.diagnostics import excess
from beliefd.experiments.means import TEST_LEVEL, Bounds, Sample, levels_at, mean_of, sample, student_levels
from beliefd.experiments.orders import draw_orders, order_arm, order_chance
from beliefd.experiments.plan import Arm, Decision, Diagnosis, Drawn, Findings, Floats, Plan
from beliefd.experiments.regions import Span, failure_of, judged, slack
from beliefd.experiments.rng import chunks, indices, uniforms
from beliefd.kernel.experiments.params import OfObservations
from beliefd.kernel.experiments.params import observed as given

TOYS: Final = 1_000
TOY_SIZE: Final = 200
FEWEST_FOR_SHAPE: Final = 20
"""Fewer values have no shape to speak of."""
MOST_SHAPED: Final = 1_000_000
"""Numbers in all worlds shaped like the data; at least so many worlds there are."""
FEWEST_SHAPES: Final = 200
FEWEST_WITHOUT_ONE: Final = 6
"""From so many observations on no single one of them may decide the outcome."""
WITHOUT_ONE: Final = 2.0
"""Fewer observations show less: without one of them so many times alpha is granted."""


def observed(plan: Plan) -> Floats:
    return np.asarray(given(_params(plan)))


def bounds_of(plan: Plan) -> Bounds | None:
    return _params(plan).bounds


def _params(plan: Plan) -> OfObservations:
    if not isinstance(plan.params, OfObservations):
        raise TypeError(f"a plan for {plan.template} has no observations")
    return plan.params


def independent(plan: Plan) -> str:
    """The words for what is assumed of the observations."""
    n = len(observed(plan))
    if bounds_of(plan) is not None:
        return f"{n} independent observations within the declared bounds"
    return f"{n} independent observations whose range ends not far past them"


def controls(plan: Plan, _: int = 0) -> tuple[Arm, ...]:
    values = observed(plan)
    n = len(values)
    shapes = max(FEWEST_SHAPES, min(TOYS, MOST_SHAPED // n)) if n >= FEWEST_FOR_SHAPE else 0
    return (
        Arm("toy", 1, TOYS, 60.0 * min(n, TOY_SIZE) + 500),
        Arm("shape", 2, shapes, 60.0 * n + 500),
        order_arm(values),
    )


def draw(plan: Plan, arm: Arm, first: int, count: int) -> Floats:
    """At which levels samples from worlds whose mean is known show that it is above, or below.

    Toys are standard normal noise around 0, where Student's level, of which the rule's is never below, is the
    quickest to find; shapes come from the data, whose mean is then the true one.
    """
    values, toy = observed(plan), arm.name == "toy"
    if arm.name == "order":
        return draw_orders(values, plan.seed, arm, first, count)
    size = min(len(values), TOY_SIZE) if toy else len(values)
    found = []
    for start, some in chunks(first, count, size):
        if toy:
            rows = np.asarray(ndtri(uniforms(plan.seed, arm.index, start, some, size)))
            found.append(student_levels(rows, 0.0))
        else:
            rows = values[indices(plan.seed, arm.index, start, some, size, size)]
            found.append(levels_at(rows, sample(values).mean))
    return np.concatenate(found)


def concluded(plan: Plan, drawn: Drawn, claimed: Span, model: str, result: Struct) -> Findings:
    """Is the mean shown to lie in the claimed region? A single observation cannot tell."""
    found = mean_of(observed(plan), bounds_of(plan))
    decision = judged(claimed, *found.levels, plan.alpha)
    return Findings(
        model=model,
        decision=decision,
        failure_mode="nonidentifiable" if found.sample.n < 2 else failure_of(claimed, decision),
        result=result,
        diagnosis=diagnosis(plan, drawn, claimed, decision),
    )


def diagnosis(plan: Plan, drawn: Drawn, claimed: Span, decision: Decision) -> Diagnosis:
    """Known answer, negative control, the data's own shape, and how little would turn the outcome round."""
    values, bounds = observed(plan), bounds_of(plan)
    found = sample(values)
    toys = drawn["toy"]
    false = _false_supports(toys, claimed) if found.n > 1 else 0
    shape_error = _shape_error(drawn["shape"], found, claimed)
    flips: list[str] = []
    if decision.outcome != "unresolved":
        known = others(values, bounds, claimed, plan.alpha)
        flips += [name for name, other in known if other != decision.outcome]
        flips += ["shape"] if shape_error is not None and shape_error > 1 else []
    unit = _params(plan).unit
    return Diagnosis(
        toy_error=excess(false, len(toys), TEST_LEVEL) if found.n > 1 else None,
        variance=spread_of(values, bounds),
        unit_agrees=unit is None or unit == plan.unit,
        order_chance=order_chance(values, drawn["order"]),
        complete=found.n > 1,
        slack=slack(claimed, values, bounds),
        flips=tuple(flips),
        told={
            "false_support_rate": false / len(toys),
            "shape_error": shape_error,
            "skewness": _skewness(values),
            "student_level": judged(claimed, *found.levels, 0.5).error_level,
            "flips": flips,
            "flip_distance": _flip_distance(found, claimed, decision),
        },
    )


def spread_of(values: Floats, bounds: Bounds | None) -> float | None:
    """The variance. Values that do not vary say nothing, unless it is declared how far they could."""
    found = sample(values)
    return None if found.n < 2 or (bounds is not None and found.std == 0) else found.std**2


def _false_supports(levels: Floats, claimed: Span) -> int:
    """How often the rule supports a claim that is false: the true mean is on the edge of the region."""
    sides = [column for column, end in ((0, claimed.low), (1, claimed.high)) if np.isfinite(end)]
    return max((int((levels[:, side] <= TEST_LEVEL).sum()) for side in sides), default=0)


def _shape_error(levels: Floats, found: Sample, claimed: Span) -> float | None:
    """Does the rule err much more often than it says, in worlds shaped like the data? Past 1 it does."""
    if not len(levels) or found.std == 0:
        return None
    return excess(_false_supports(levels, claimed), len(levels), 2 * TEST_LEVEL, deviations=3)


def others(values: Floats, bounds: Bounds | None, claimed: Span, alpha: float) -> list[tuple[str, str]]:
    """The outcome by other models of the noise: of a robust centre, and without any one observation."""
    found: list[tuple[str, str]] = []
    if len(values) >= FEWEST_WITHOUT_ONE:
        for name, worst in (("without_largest", values.argmax()), ("without_smallest", values.argmin())):
            left = mean_of(np.delete(values, int(worst)), bounds)
            found.append((name, judged(claimed, *left.levels, min(0.5, WITHOUT_ONE * alpha)).outcome))
    if len(values) >= 10:
        cut = max(1, len(values) // 10)
        trimmed = _trimmed(np.sort(values), cut)
        found.append(("trimmed", judged(claimed, *trimmed.levels, alpha).outcome))
    return found


def _trimmed(ordered: Floats, cut: int) -> Sample:
    """The trimmed mean with its winsorised standard error (Tukey and McLaughlin, 1963)."""
    middle = ordered[cut:-cut]
    pulled_in = np.clip(ordered, middle[0], middle[-1])
    if float(np.ptp(pulled_in)) == 0:
        return Sample(len(middle), float(middle[0]), 0.0)
    error = pulled_in.std(ddof=1) / ((1 - 2 * cut / len(ordered)) * np.sqrt(len(ordered)))
    return Sample(len(middle), float(middle.mean()), float(error * np.sqrt(len(middle))))


def _skewness(values: Floats) -> float:
    spread = float(values.std())
    return 0.0 if spread == 0 else float((((values - values.mean()) / spread) ** 3).mean())


def _flip_distance(found: Sample, claimed: Span, decision: Decision) -> float | None:
    """By how many of their standard deviations all observations must shift to turn the outcome round."""
    if decision.outcome == "unresolved" or not found.std > 0:
        return None
    return abs(float(claimed.inside(np.asarray(found.mean)))) / found.std
