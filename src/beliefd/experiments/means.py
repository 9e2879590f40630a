"""The mean of a sample and what can be shown about it, by Student's t; for one sample or rows of them."""

from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from beliefd.experiments.plan import Floats
from beliefd.experiments.regions import Level, Span

TEST_LEVEL: Final = 0.05
"""The level at which rules are tried out on worlds with a known answer."""


class Sample(Struct, frozen=True):
    """Count, mean and standard deviation. A single value has no standard deviation, which is nan here."""

    n: int
    mean: float
    std: float

    def above(self, value: float, strict: bool) -> float:
        return float(level_above(self.mean - value, self.std, self.n, strict))

    def below(self, value: float, strict: bool) -> float:
        return float(level_above(value - self.mean, self.std, self.n, strict))

    @property
    def levels(self) -> tuple[Level, Level]:
        return self.above, self.below

    def interval(self, level: float) -> tuple[float, float]:
        if self.n < 2:
            return self.mean, self.mean
        half = float(-stdtrit(self.n - 1, (1 - level) / 2)) * self.std / np.sqrt(self.n)
        return float(self.mean - half), float(self.mean + half)


def sample(values: Floats) -> Sample:
    # Rounding must not give constant values a spread of their own.
    if float(np.ptp(values)) == 0:
        return Sample(len(values), float(values[0]), 0.0 if len(values) > 1 else float("nan"))
    return Sample(len(values), float(values.mean()), float(values.std(ddof=1)))


def level_above(distance: Any, std: Any, n: int, strict: bool) -> Any:
    """The level at which a mean that is `distance` above a value is shown to be above it.

    Constant values have no spread to measure by. What is left is the sign test: all `n` on one side.
    """
    if n < 2:
        return np.ones_like(distance, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        student = stdtr(n - 1, -distance * np.sqrt(n) / std)
    on_this_side = distance > 0 if strict else distance >= 0
    return np.where(std == 0, np.where(on_this_side, 0.5**n, 1.0), student)


def supported(means: Floats, stds: Floats, n: int, claimed: Span, level: float) -> NDArray[np.bool_]:
    """For rows of samples: which of them show, at this level, that their mean is in the region."""
    shown = np.ones(len(means), dtype=bool)
    if np.isfinite(claimed.low):
        shown &= level_above(means - claimed.low, stds, n, claimed.strict) <= level
    if np.isfinite(claimed.high):
        shown &= level_above(claimed.high - means, stds, n, claimed.strict) <= level
    return shown


def false_supports(moments: Floats, n: int, truth: float, claimed: Span, scale: float) -> int:
    """How often the rule supports a claim that is false: the true mean is put on the region's edge.

    `scale` is the noise in the units of the region, so that a wide region stays wide in the toy world.
    """
    means, stds = (moments[:, 0] - truth) * scale, moments[:, 1] * scale
    worst = 0
    for edge in (claimed.low, claimed.high):
        if np.isfinite(edge):
            worst = max(worst, int(supported(means + edge, stds, n, claimed, TEST_LEVEL).sum()))
    return worst
