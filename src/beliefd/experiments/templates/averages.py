"""What the three templates about the mean of observations share: arms, diagnosis, and how they conclude."""

from typing import Final

import numpy as np
from msgspec import Struct
from scipy.special import ndtri

from beliefd.experiments.diagnostics import dependence, excess
from beliefd.experiments.means import TEST_LEVEL, Sample, false_supports, sample
from beliefd.experiments.plan import Arm, Decision, Diagnosis, Drawn, Findings, Floats, Plan
from beliefd.experiments.regions import Span, failure_of, judged
from beliefd.experiments.rng import chunks, indices, uniforms
from beliefd.kernel.experiments.params import EffectDirection, NumericConsistency, ThresholdCheck

TOYS: Final = 1_000
TOY_SIZE: Final = 200
FEWEST_FOR_SHAPE: Final = 20
"""Fewer values have no shape to speak of."""
FEWEST_WITHOUT_ONE: Final = 6
"""From so many observations on no single one of them may decide the outcome."""


def observed(plan: Plan) -> Floats:
    if isinstance(plan.params, ThresholdCheck):
        return np.asarray(plan.params.values)
    if isinstance(plan.params, NumericConsistency):
        return np.asarray(plan.params.observed_values)
    return np.asarray(plan.of(EffectDirection).observations)


def controls(plan: Plan, _: int) -> tuple[Arm, ...]:
    n = len(observed(plan))
    shapes = TOYS if n >= FEWEST_FOR_SHAPE else 0
    return Arm("toy", 1, TOYS, 40.0 * min(n, TOY_SIZE) + 500), Arm("shape", 2, shapes, 8.0 * n + 500)


def draw(plan: Plan, arm: Arm, first: int, count: int) -> Floats:
    """Mean and deviation of samples from worlds whose mean is known.

    Toys are standard normal noise around 0; shapes come from the data, whose mean is then the true one.
    """
    values, toy = observed(plan), arm.name == "toy"
    size = min(len(values), TOY_SIZE) if toy else len(values)
    found = []
    for start, some in chunks(first, count, size):
        if toy:
            rows = np.asarray(ndtri(uniforms(plan.seed, arm.index, start, some, size)))
        else:
            rows = values[indices(plan.seed, arm.index, start, some, size, size)]
        found.append(np.column_stack([rows.mean(axis=1), _std(rows)]))
    return np.concatenate(found)


def _std(rows: Floats) -> Floats:
    if rows.shape[1] < 2:
        return np.full(len(rows), np.nan)
    return np.where(np.ptp(rows, axis=1) == 0, 0.0, rows.std(axis=1, ddof=1))


def concluded(plan: Plan, drawn: Drawn, claimed: Span, model: str, result: Struct) -> Findings:
    """Is the mean shown to lie in the claimed region? A single observation cannot tell."""
    found = sample(observed(plan))
    decision = judged(claimed, *found.levels, plan.alpha)
    return Findings(
        model=model,
        decision=decision,
        failure_mode="nonidentifiable" if found.n < 2 else failure_of(claimed, decision),
        result=result,
        diagnosis=_diagnosis(plan, drawn, claimed, decision),
    )


def _diagnosis(plan: Plan, drawn: Drawn, claimed: Span, decision: Decision) -> Diagnosis:
    """Known answer, negative control, the data's own shape, and how little would turn the outcome round."""
    values = observed(plan)
    found = sample(values)
    n, scale = found.n, found.std if found.std > 0 else 1.0
    toys = drawn["toy"]
    false = false_supports(toys, min(n, TOY_SIZE), 0.0, claimed, scale) if n > 1 else 0
    shape_error = _shape_error(drawn["shape"], found, claimed)
    flips: list[str] = []
    if decision.outcome != "unresolved":
        flips += [name for name, other in _others(values, claimed, plan.alpha) if other != decision.outcome]
        flips += ["shape"] if shape_error is not None and shape_error > 1 else []
    unit = getattr(plan.params, "unit", None)
    return Diagnosis(
        toy_error=excess(false, len(toys), TEST_LEVEL) if n > 1 else None,
        variance=None if n < 2 else found.std**2,
        unit_agrees=unit is None or unit == plan.unit,
        dependence=dependence(values),
        complete=n > 1,
        flips=tuple(flips),
        told={
            "false_support_rate": false / len(toys),
            "shape_error": shape_error,
            "skewness": _skewness(values),
            "flips": flips,
            "flip_distance": _flip_distance(found, claimed, decision),
        },
    )


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
