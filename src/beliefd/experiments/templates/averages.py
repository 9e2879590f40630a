"""What the three templates about the mean of observations share: their arms, and their diagnosis."""

from typing import Final

import numpy as np

from beliefd.experiments.diagnostics import dependence, excess
from beliefd.experiments.means import (
    TEST_LEVEL,
    TOY_SIZE,
    Sample,
    draw_shapes,
    draw_toys,
    false_supports,
    sample,
    shape_arm,
    toy_arm,
)
from beliefd.experiments.plan import Arm, Diagnosis, Drawn, Floats, Plan
from beliefd.experiments.regions import Decision, Span, judged
from beliefd.kernel.experiments.params import EffectDirection, NumericConsistency, ThresholdCheck

TOY, SHAPE = 1, 2
FEWEST_WITHOUT_ONE: Final = 6
"""From so many observations on no single one of them may decide the outcome."""


def observed(plan: Plan) -> Floats:
    if isinstance(plan.params, ThresholdCheck):
        return np.asarray(plan.params.values)
    if isinstance(plan.params, NumericConsistency):
        return np.asarray(plan.params.observed_values)
    return np.asarray(plan.of(EffectDirection).observations)


def no_main(_: Plan) -> Arm | None:
    """The decision is a formula's; only the controls beside it are drawn."""
    return None


def controls(plan: Plan, _: int) -> tuple[Arm, ...]:
    n = len(observed(plan))
    return toy_arm(n, TOY), shape_arm(n, SHAPE)


def draw(plan: Plan, arm: Arm, first: int, count: int) -> Floats:
    values = observed(plan)
    if arm.name == "toy":
        return draw_toys(plan, arm, len(values), first, count)
    return draw_shapes(plan, arm, values, first, count)


def diagnosis(
    plan: Plan, drawn: Drawn, claimed: Span, decision: Decision
) -> tuple[Diagnosis, dict[str, object]]:
    """Known answer, negative control, the data's own shape, and how little would turn the outcome round."""
    values = observed(plan)
    found = sample(values)
    n, scale = found.n, found.std if found.std > 0 else 1.0
    toys = drawn["toy"]
    false = false_supports(toys, min(n, TOY_SIZE), 0.0, claimed, scale) if n > 1 else 0
    toy_error = excess(false, len(toys), TEST_LEVEL) if n > 1 else None
    shape_error = _shape_error(drawn["shape"], found, claimed)
    flips = [name for name, other in _others(values, claimed, plan.alpha) if other != decision.outcome]
    if shape_error is not None and shape_error > 1:
        flips.append("shape")
    told: dict[str, object] = {
        "false_support_rate": false / len(toys),
        "shape_error": shape_error,
        "skewness": _skewness(values),
        "flips": flips if decision.outcome != "unresolved" else [],
        "flip_distance": _flip_distance(found, claimed, decision),
    }
    unit = getattr(plan.params, "unit", None)
    return Diagnosis(
        toy_error=toy_error,
        variance=None if n < 2 else found.std**2,
        unit_agrees=unit is None or unit == plan.unit,
        dependence=dependence(values),
        complete=n > 1,
        flips=tuple(flips) if decision.outcome != "unresolved" else (),
    ), told


def _shape_error(moments: Floats, found: Sample, claimed: Span) -> float | None:
    """Does the rule err much more often than it says, in worlds shaped like the data? Past 1 it does."""
    if not len(moments) or found.std == 0:
        return None
    false = false_supports(moments, found.n, found.mean, claimed, 1.0)
    return excess(false, len(moments), 2 * TEST_LEVEL)


def _others(values: Floats, claimed: Span, alpha: float) -> list[tuple[str, str]]:
    """The outcome by other models of the noise: of a robust centre, and without any one observation."""
    found: list[tuple[str, str]] = []
    if len(values) >= FEWEST_WITHOUT_ONE:
        for name, worst in (("without_largest", values.argmax()), ("without_smallest", values.argmin())):
            left = sample(np.delete(values, int(worst)))
            found.append((name, judged(claimed, *left.levels, alpha).outcome))
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
