"""How well an uncertainty tells wrong answers from right ones, with bootstrap intervals."""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from beliefd.kernel.errors import invalid

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
QUANTILES: Final = 20
LEAST_COVERAGE: Final = 0.1
RESAMPLES: Final = 1_000


class Interval(Struct, frozen=True):
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def wilson(count: int, total: int, z: float = 1.959964) -> Interval:
    """A share with the interval of Wilson (1927), at 95 %; of nothing it may be anything."""
    if not total:
        return Interval(0.0, 0.0, 1.0)
    share = count / total
    spread = z * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    middle, scale = share + z * z / (2 * total), 1 + z * z / total
    return Interval(share, max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale))


def auroc(uncertainties: Floats, wrong: Bools) -> float:
    """The chance that a wrong answer is more uncertain than a right one; ties count half."""
    ranks = _mean_ranks(uncertainties)
    bad = int(wrong.sum())
    good = len(wrong) - bad
    if not bad or not good:
        return float("nan")
    return float((np.sum(ranks[wrong]) - bad * (bad + 1) / 2) / (bad * good))


def aurac(uncertainties: Floats, wrong: Bools) -> float:
    """Area under accuracy against coverage, from a tenth of the answers to all, as in Farquhar et al."""
    shares = np.linspace(LEAST_COVERAGE, 1, QUANTILES)
    kept = [~wrong[uncertainties <= limit] for limit in np.quantile(uncertainties, shares)]
    return float(sum(part.mean() for part in kept) * (shares[1] - shares[0]))


def risk_coverage(uncertainties: Floats, wrong: Bools, points: int = 10) -> list[tuple[float, float]]:
    """(coverage, share of wrong answers among the accepted), where the most certain are accepted first."""
    order = np.argsort(uncertainties, kind="stable")
    errors = np.cumsum(wrong[order])
    counts = [max(1, round(len(order) * step / points)) for step in range(1, points + 1)]
    return [(count / len(order), float(errors[count - 1] / count)) for count in counts]


def with_interval(
    measure: Callable[[Floats, Bools], float],
    uncertainties: Sequence[float],
    wrong: Sequence[bool],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The value and the middle 95 % of it over answers drawn again with a fixed seed."""
    values, labels = np.asarray(uncertainties, dtype=np.float64), np.asarray(wrong, dtype=bool)
    if labels.all() or not labels.any():
        raise invalid("all answers are right or all are wrong; nothing can be told apart", "$")
    generator = np.random.default_rng(seed)
    drawn = []
    for _ in range(resamples):
        again = generator.integers(0, len(values), len(values))
        drawn.append(measure(values[again], labels[again]))
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return Interval(measure(values, labels), float(low), float(high))


def _mean_ranks(values: Floats) -> Floats:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse])
