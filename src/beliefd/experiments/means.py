"""The mean of observations and what can be shown about it: by Student's t, and whatever the noise's shape.

A level is the larger one of Student's, which is exact for normal noise, and of Gaffke's, which needs the end
of the range only. If nobody declared that end, it is put so far out that a sample of this size, which is
skewed as this one is, would probably have shown more. Both are for observations that are worth as many
independent ones as their order says.
"""

import math
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from scipy.special import stdtr, stdtrit

from beliefd.experiments.bounded import level_below
from beliefd.experiments.plan import Floats
from beliefd.experiments.regions import Level

TEST_LEVEL: Final = 0.05
"""The level at which rules are tried out on worlds with a known answer."""
LONGEST: Final = 200
MOST_LOPSIDED: Final = 20.0
FEW: Final = 20
GAPS: Final = 3.0
"""A range that ends nearer to the largest value than so many gaps between it and the next may be a copy."""
MOST_CORRELATED: Final = 0.95
RARELY: Final = 0.5
"""How much of the error of a few values is added. Chosen by simulation, like how far a range goes on."""
LEAST_TAIL: Final = 1e-12
FARTHEST: Final = 12
ROUNDS, PARTS = 3, 8
Bounds = tuple[float, float]


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


def sample(values: Floats) -> Sample:
    means, stds = moments(values[None, :])
    return Sample(len(values), float(means[0]), float(stds[0]))


def moments(rows: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each row. Rounding must not give constant values a spread."""
    if rows.shape[1] < 2:
        return rows[:, 0], np.full(len(rows), np.nan)
    constant = np.ptp(rows, axis=1) == 0
    return (
        np.where(constant, rows[:, 0], rows.mean(axis=1)),
        np.where(constant, 0.0, rows.std(axis=1, ddof=1)),
    )


def level_above(distance: Any, std: Any, n: int, strict: bool) -> Any:
    """The level at which a mean that is `distance` above a value is shown to be above it, by Student's t.

    Constant values have no spread to measure by. What is left is the sign test: all `n` on one side.
    """
    if n < 2:
        return np.ones_like(distance, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        student = stdtr(n - 1, -distance * np.sqrt(n) / std)
    on_this_side = distance > 0 if strict else distance >= 0
    return np.where(std == 0, np.where(on_this_side, 0.5**n, 1.0), student)


class Uppers(Struct, frozen=True):
    """Rows of samples, seen from above: how small can their means be said to be?"""

    rows: Floats
    means: Floats
    stds: Floats
    ends: Floats
    stretch: Floats
    """By how much dependence widens what the values of a row leave open."""
    worth: Floats
    """What part of an independent observation each value is worth, if the range is declared; else 1."""

    def below(self, values: Floats, strict: bool) -> Floats:
        """The levels at which the means are shown to be below these values, as far as they could decide."""
        distance = values - self.means
        distance = np.where(distance > 0, distance / self.stretch, distance)
        found = np.asarray(level_above(distance, self.stds, self.rows.shape[1], strict))
        # Above one half nothing can ever be decided, so the integral is for the others.
        (small,) = np.nonzero(found <= 0.5)
        found = np.where(found <= 0.5, found, 1.0)
        if len(small):
            # What counts for less is not also brought nearer.
            near = np.where(self.worth < 1, values, self.means + distance)[small]
            whole = level_below(self.rows[small], near, self.ends[small], self.worth[small])
            found[small] = np.maximum(found[small], whole)
        return found

    def stretched(self, stretch: Floats) -> "Uppers":
        """The same within a declared range, with a dependence that is known from elsewhere."""
        return replace(self, stretch=stretch, worth=stretch**-2)

    def at(self, values: Floats) -> Floats:
        """The same for many values of the first row."""
        count = len(values)
        same = {name: np.repeat(getattr(self, name)[:1], count, axis=0) for name in self.__struct_fields__}
        return Uppers(**same).below(values, True)


def uppers(rows: Floats, high: float | None = None) -> Uppers:
    means, stds = moments(rows)
    found = Uppers(
        rows, means, stds, range_ends(rows, high), stretches(rows, high is not None), np.ones(len(rows))
    )
    return found if high is None else found.stretched(found.stretch)


def range_ends(rows: Floats, high: float | None) -> Floats:
    """Where the range of each row ends: as declared, else farther out the more the row leans that way.

    A declared end that is nearer than a few times the gap between the two largest values is not believed, if
    each of the two occurs once: it may have been taken from the data. What lies at the other end says
    nothing about this one.
    """
    ordered = np.sort(rows, axis=1)
    lowest, top, median = ordered[:, 0], ordered[:, -1], np.median(ordered, axis=1)
    if high is not None:
        gaps = np.diff(ordered[:, -3:], axis=1)
        measured = (gaps > 0).all(axis=1)
        last = gaps[:, -1] if rows.shape[1] > 1 else np.zeros(len(rows))
        return np.where(measured, np.maximum(high, top + GAPS * last), high)
    with np.errstate(divide="ignore", invalid="ignore"):
        lopsided = np.clip(np.nan_to_num((top - median) / (median - lowest), nan=1.0), 1.0, MOST_LOPSIDED)
    n = rows.shape[1]
    return np.asarray(top + (reach(n) + leaning(n) * (lopsided - 1)) * (top - lowest))


def reach(n: int) -> float:
    """How far past the largest of `n` values their range may go on, in ranges of the sample.

    Few values show little of their shape. Many would show so much that something rarer than one in `n` could
    spoil it; past so many, what is as rare as that has been seen.
    """
    return 1 + 4 / n + min(n, LONGEST) / 100


def leaning(n: int) -> float:
    """How much farther it may go on if the sample leans that way, for each time that it leans.

    Few values that lean may belong to anything. Many have shown how their range thins out: what goes on past
    the largest of them is then as small a part of the mean as there are many.
    """
    return (1 + 4 / n) * min(1.0, FEW / n)


def stretches(rows: Floats, doubted: bool) -> Floats:
    """By how much neighbours that are alike make a mean less certain than independent values would.

    If it is doubted that they are no more alike than they look, a standard error is added. Where the range
    ends far out, that leaves room enough. If few values are all that varies, as in rare failures, these few
    are all that could show a likeness: the error is then by their number, which is n by the kurtosis.
    """
    centred = rows - rows.mean(axis=1, keepdims=True)
    centred = centred / np.maximum(np.abs(centred).max(axis=1, keepdims=True), 1e-290)
    squares = np.maximum((centred**2).sum(axis=1), 1e-290)
    first = (centred[:, 1:] * centred[:, :-1]).sum(axis=1) / squares
    n = rows.shape[1]
    # Independent values have about -1/n, with a standard error of 1/sqrt(n).
    likely = np.where(np.ptp(rows, axis=1) == 0, 0.0, first + 1 / n)
    if doubted:
        kurtosis = n * (centred**4).sum(axis=1) / np.maximum(squares, 1.0) ** 2
        likely = likely + np.maximum(1.0, RARELY * np.sqrt(kurtosis)) / math.sqrt(n)
    alike = np.clip(likely, 0.0, MOST_CORRELATED)
    return np.asarray(np.sqrt((1 + alike) / (1 - alike)))


def student_levels(rows: Floats, truth: float) -> Floats:
    """The levels at which each row shows its mean to be above the true one, and below, by Student's t."""
    means, stds = moments(rows)
    distances = (means - truth, truth - means)
    return np.column_stack([level_above(off, stds, rows.shape[1], True) for off in distances])


def levels_at(rows: Floats, truth: float) -> Floats:
    """The same, by the whole rule. What Student's test leaves open stays open."""
    found = student_levels(rows, truth)
    for column, turned in ((0, -1.0), (1, 1.0)):
        (some,) = np.nonzero(found[:, column] <= TEST_LEVEL)
        if len(some):
            there = np.full(len(some), turned * truth)
            found[some, column] = uppers(turned * rows[some]).below(there, True)
    return found


class Mean(Struct, frozen=True):
    """The mean of one sample, and what can be shown about it."""

    sample: Sample
    upper: Uppers
    lower: Uppers
    """The sample turned round: what is below here is above there."""

    def above(self, value: float, strict: bool) -> float:
        return float(self.lower.below(np.asarray([-value]), strict)[0])

    def below(self, value: float, strict: bool) -> float:
        return float(self.upper.below(np.asarray([value]), strict)[0])

    @property
    def levels(self) -> tuple[Level, Level]:
        return self.above, self.below

    def interval(self, level: float) -> tuple[float, float]:
        """What the mean is shown to be neither above nor below of, at half of what is left each."""
        found, tail = self.sample, tail_of(level)
        if found.n < 2:
            return found.mean, found.mean
        half = float(-stdtrit(found.n - 1, tail)) * found.std / math.sqrt(found.n)
        return found.mean - _first_shown(self.lower, half, tail), found.mean + _first_shown(
            self.upper, half, tail
        )


def tail_of(level: float) -> float:
    """What an interval leaves out on each side: never nothing, for then it would have no ends."""
    return max((1 - level) / 2, LEAST_TAIL)


def mean_of(values: Floats, bounds: Bounds | None = None) -> Mean:
    low, high = bounds or (None, None)
    turned = None if low is None else -low
    return Mean(sample(values), uppers(values[None, :], high), uppers(-values[None, :], turned))


def _first_shown(side: Uppers, nearest: float, tail: float) -> float:
    """How far past its mean one has to go until a sample shows it at a level: by doubling, then dividing."""
    if nearest == 0:
        return 0.0
    offs = nearest * np.exp2(np.arange(FARTHEST))
    for _ in range(ROUNDS):
        shown = side.at(side.means[0] + offs) <= tail
        first = int(shown.argmax()) if shown.any() else len(offs) - 1
        if first == 0:
            break
        offs = np.linspace(offs[first - 1], offs[first], PARTS + 1)
    return float(offs[first])
