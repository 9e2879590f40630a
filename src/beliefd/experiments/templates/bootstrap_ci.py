"""bootstrap_ci: an interval for a mean from the data's own resamples; is the null outside of it?

The interval is the expanded percentile one (Hesterberg, 2015): plain percentiles are too narrow for small
samples, by about the factor that separates Student's t from the normal distribution. What was never drawn
is in no resample, so the mean test that allows for it has to show the same.
"""

import math
from typing import Final

import numpy as np
from msgspec import Struct
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from beliefd.experiments.diagnostics import effective_samples, excess, standard_error
from beliefd.experiments.means import TEST_LEVEL, Mean, mean_of, tail_of
from beliefd.experiments.orders import draw_orders, order_arm, order_chance
from beliefd.experiments.plan import Arm, Decision, Diagnosis, Drawn, Findings, Floats, Plan, Template
from beliefd.experiments.regions import (
    Level,
    Span,
    beyond,
    claimed,
    differs,
    failure_of,
    judged,
    slack,
    strictest,
)
from beliefd.experiments.rng import chunks, indices, uniforms
from beliefd.experiments.templates.averages import WITHOUT_ONE, spread_of
from beliefd.kernel.experiments.params import BootstrapCi
from beliefd.kernel.experiments.plan import FailureMode

SEED_ROOTS: Final = 3
"""How often the whole bootstrap is done again, with other random numbers."""
TOYS, TOY_SIZE, TOY_DRAWS = 200, 40, 200


class Result(Struct, frozen=True):
    estimate: float
    ci_low: float
    ci_high: float
    variance: float
    n_samples: int
    null_outside: bool


class Resampled(Struct, frozen=True):
    """The means of resamples in order, and what can be shown by them."""

    n: int
    means: Floats

    def interval(self, level: float) -> tuple[float, float]:
        tail = expanded(tail_of(level), self.n)
        low, high = np.quantile(self.means, [tail, 1 - tail])
        return float(low), float(high)

    def above(self, value: float, strict: bool) -> float:
        below = int(np.searchsorted(self.means, value, side="right" if strict else "left"))
        return self._level(below)

    def below(self, value: float, strict: bool) -> float:
        past = int(np.searchsorted(self.means, value, side="left" if strict else "right"))
        return self._level(len(self.means) - past)

    def _level(self, wrong: int) -> float:
        """From the count of resamples on the wrong side, and one for the data; never below a sign test.

        If there is none, they say only that the level is below what their number can tell. How far below is
        for the mean test to say, without which nothing is shown.
        """
        counted = contracted((wrong + 1) / (len(self.means) + 1), self.n) if wrong else 0.0
        return max(counted, 0.5**self.n)


def expanded(tail: float, n: int) -> float:
    """The share to cut off for an interval that is as wide as Student's."""
    return float(ndtr(math.sqrt(n / (n - 1)) * stdtrit(n - 1, tail)))


def contracted(share: float, n: int) -> float:
    """The other way round: the level that a share cut off stands for."""
    return float(stdtr(n - 1, ndtri(share) * math.sqrt((n - 1) / n))) if share < 1 else 1.0


def resample(values: Floats, seed: int, arm: int, first: int, count: int) -> Floats:
    """The mean of each resample."""
    n = len(values)
    found = np.empty(count)
    for start, some in chunks(first, count, n):
        drawn = values.take(indices(seed, arm, start, some, n, n))
        found[start - first : start - first + some] = drawn.mean(axis=1)
    return found


def main(plan: Plan) -> Arm:
    params = plan.of(BootstrapCi)
    return Arm("main", 0, params.n_bootstrap, 5.0 * len(params.data) + 200)


def controls(plan: Plan, used: int) -> tuple[Arm, ...]:
    cost = main(plan).cost
    roots = tuple(Arm(f"root{number}", number, used, cost) for number in range(1, 1 + SEED_ROOTS))
    toy = Arm("toy", 10, TOYS, TOY_SIZE * TOY_DRAWS * 6.0)
    return (*roots, toy, order_arm(np.asarray(plan.of(BootstrapCi).data)))


def draw(plan: Plan, arm: Arm, first: int, count: int) -> Floats:
    params = plan.of(BootstrapCi)
    values = np.asarray(params.data)
    if arm.name == "order":
        return draw_orders(values, plan.seed, arm, first, count)
    if arm.name != "toy":
        return resample(values, plan.seed, arm.index, first, count)[:, None]
    rows = [_toy(plan.seed, arm.index, number, len(values)) for number in range(first, first + count)]
    return np.asarray(rows)


def _toy(seed: int, arm: int, number: int, n: int) -> list[float]:
    """A world whose mean is known to be 0: at which levels is it shown to be above, and below?"""
    size = min(n, TOY_SIZE)
    values = ndtri(uniforms(seed, arm, number, 1, size)[0])
    means = np.sort(resample(values, seed, arm + 1, number * TOY_DRAWS, TOY_DRAWS))
    found = Resampled(size, means)
    return [found.above(0.0, True), found.below(0.0, True)]


def conclude(plan: Plan, drawn: Drawn) -> Findings:
    params = plan.of(BootstrapCi)
    values = np.asarray(params.data)
    means = drawn["main"][:, 0]
    found = Resampled(len(values), np.sort(means))
    plain = mean_of(values, params.bounds)
    decision = _decision(plan, found, plain)
    level = max(params.confidence_level, 1 - plan.alpha)
    ends = [found.interval(level), plain.interval(level)]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return Findings(
        model=f"{len(values)} independent observations of one distribution, resampled: where is their mean?",
        decision=decision,
        failure_mode=_failure(plan, decision, len(values)),
        result=Result(
            float(values.mean()), low, high, float(means.var(ddof=1)), len(means),
            not low <= params.null_value <= high,
        ),
        diagnosis=_diagnosis(plan, values, drawn, decision, plain),
        replicates=len(means),
    )  # fmt: skip


def _decision(plan: Plan, *found: Resampled | Mean, granted: float = 1.0) -> Decision:
    """INVARIANT: whatever is shown is shown by all of them."""
    params = plan.of(BootstrapCi)
    # INVARIANT: an interval that was asked for at a higher level than alpha's has to be at that level.
    alpha = min(0.5, granted * min(plan.alpha, 1 - params.confidence_level))
    levels: tuple[Level, Level] = (
        strictest(*(one.above for one in found)),
        strictest(*(one.below for one in found)),
    )
    if plan.criterion is None:
        return differs(params.null_value, *levels, alpha)
    return judged(claimed(plan.criterion), *levels, alpha)


def _claimed(plan: Plan, values: Floats) -> Span:
    """The region; without one, the side of the null on which the values are."""
    if plan.criterion is not None:
        return claimed(plan.criterion)
    null = plan.of(BootstrapCi).null_value
    return beyond(null, float(values.mean()) > null)


def _failure(plan: Plan, decision: Decision, n: int) -> FailureMode | None:
    if decision.outcome == "support":
        return None
    if 0.5 ** (n - 1) > plan.alpha:
        return "nonidentifiable"
    return "null_effect" if plan.criterion is None else failure_of(claimed(plan.criterion), decision)


def _diagnosis(plan: Plan, values: Floats, drawn: Drawn, decision: Decision, plain: Mean) -> Diagnosis:
    params = plan.of(BootstrapCi)
    means, n = drawn["main"][:, 0], len(values)
    toys = drawn["toy"]
    false = max(int((toys[:, side] <= TEST_LEVEL).sum()) for side in (0, 1))
    others = {
        f"root{number}": _decision(plan, Resampled(n, np.sort(drawn[f"root{number}"][:, 0])), plain)
        for number in range(1, 1 + SEED_ROOTS)
    }
    if n > 6:
        for name, worst in (("without_largest", values.argmax()), ("without_smallest", values.argmin())):
            others[name] = _decision(
                plan, mean_of(np.delete(values, int(worst)), params.bounds), granted=WITHOUT_ONE
            )
    flips = [name for name, other in others.items() if other.outcome != decision.outcome]
    size = effective_samples(means)
    spread = float(values.std(ddof=1))
    return Diagnosis(
        toy_error=excess(false, len(toys), TEST_LEVEL),
        variance=spread_of(values, params.bounds),
        unit_agrees=params.unit is None or params.unit == plan.unit,
        order_chance=order_chance(values, drawn["order"]),
        effective_samples=size,
        complete=params.bounds is not None or bool(np.any(means != 0)),
        slack=slack(_claimed(plan, values), values, params.bounds),
        flips=() if decision.outcome == "unresolved" else tuple(flips),
        told={
            "monte_carlo_error": standard_error(means),
            "effective_samples": size,
            "false_support_rate": false / len(toys),
            "flips": flips,
            "flip_distance": abs(float(values.mean()) - params.null_value) / spread if spread > 0 else None,
        },
    )


TEMPLATE = Template(
    name="bootstrap_ci", version=2, result=Result, conclude=conclude, main=main, draw=draw, controls=controls
)
