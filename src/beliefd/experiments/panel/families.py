"""Distributions with a known mean, in the order in which values would be observed."""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.random import Generator

from beliefd.experiments.plan import Floats

BEFORE: Final = 60
"""Steps that a series takes before it is observed."""


class Family(Struct, frozen=True):
    """Rows of so many values. `mean` is the true one; `bounds` are what one who knows it would declare."""

    name: str
    mean: float
    draw: Callable[[Generator, int, int], Floats]
    bounds: tuple[float, float] | None = None
    copied: bool = False
    """Are the bounds of each sample its own extremes? That is what one who does not know might declare."""

    def declared(self, row: Floats) -> tuple[float, float] | None:
        return (float(row.min()), float(row.max())) if self.copied else self.bounds


def _contaminated(share: float, far: float) -> Callable[[Generator, int, int], Floats]:
    return lambda rng, rows, n: rng.normal(size=(rows, n)) + far * (rng.random((rows, n)) < share)


def _rare(share: float) -> Callable[[Generator, int, int], Floats]:
    return lambda rng, rows, n: (rng.random((rows, n)) < share).astype(np.float64)


def _mostly_zero(rng: Generator, rows: int, n: int) -> Floats:
    return np.asarray((rng.random((rows, n)) < 0.2) * rng.exponential(size=(rows, n)))


def _far_mixture(rng: Generator, rows: int, n: int) -> Floats:
    second = rng.random((rows, n)) < 0.15
    return np.where(second, 4 + rng.normal(size=(rows, n)), 0.3 * rng.normal(size=(rows, n)))


def _mixture(rng: Generator, rows: int, n: int) -> Floats:
    second = rng.random((rows, n)) < 0.1
    return np.where(second, 5 + 2 * rng.normal(size=(rows, n)), rng.normal(size=(rows, n)))


def _following(weight: float) -> Callable[[Generator, int, int], Floats]:
    def drawn(rng: Generator, rows: int, n: int) -> Floats:
        found = rng.normal(size=(rows, BEFORE + n))
        for place in range(1, BEFORE + n):
            found[:, place] += weight * found[:, place - 1]
        return found[:, BEFORE:]

    return drawn


def _moving(rng: Generator, rows: int, n: int) -> Floats:
    noise = rng.normal(size=(rows, n + 3))
    return np.asarray(noise[:, 3:] + noise[:, 2:-1] + noise[:, 1:-2] + noise[:, :-3])


def _switching(share: float) -> Callable[[Generator, int, int], Floats]:
    """Ones and zeros that change in a share of all steps, and stay what they were in the others."""

    def drawn(rng: Generator, rows: int, n: int) -> Floats:
        changed = rng.random((rows, n)) < share
        changed[:, 0] = rng.random(rows) < 0.5
        return np.asarray(np.cumsum(changed, axis=1) % 2, dtype=np.float64)

    return drawn


def _bursts(share: float) -> Callable[[Generator, int, int], Floats]:
    """Rare ones of which each value repeats the last in half of all steps."""

    def drawn(rng: Generator, rows: int, n: int) -> Floats:
        found = (rng.random((rows, n)) < share).astype(np.float64)
        repeated = rng.random((rows, n)) < 0.5
        for place in range(1, n):
            found[:, place] = np.where(repeated[:, place], found[:, place - 1], found[:, place])
        return found

    return drawn


def _some_lognormal(rng: Generator, rows: int, n: int) -> Floats:
    return np.asarray((rng.random((rows, n)) < 0.4) * rng.lognormal(0, 1, (rows, n)))


def _sloping(rng: Generator, rows: int, n: int) -> Floats:
    """A slope of its own for each sample, which moves the mean of that sample."""
    slope = 3 * rng.normal(size=(rows, 1))
    return np.asarray(rng.normal(size=(rows, n)) + slope * np.linspace(0, 1, n))


def _seasonal(rng: Generator, rows: int, n: int) -> Floats:
    """A wave of 60 steps that begins anywhere: few steps see only a part of it."""
    steps = np.arange(n) + 60 * rng.random((rows, 1))
    return np.asarray(rng.normal(size=(rows, n)) + 2 * np.sin(2 * np.pi * steps / 60))


def _regimes(rng: Generator, rows: int, n: int) -> Floats:
    """Each half of a sample has a level of its own."""
    levels = np.repeat(2 * rng.choice([-1.0, 1.0], (rows, 2)), (n // 2, n - n // 2), axis=1)
    return np.asarray(rng.normal(size=(rows, n)) + levels)


def _trending(rng: Generator, rows: int, n: int) -> Floats:
    return np.asarray(rng.normal(size=(rows, n)) + np.linspace(-2, 2, n))


FAMILIES: Final = (
    Family("normal", 0.0, lambda rng, rows, n: rng.normal(size=(rows, n))),
    Family("uniform", 0.5, lambda rng, rows, n: rng.random((rows, n)), (0.0, 1.0)),
    Family("exponential", 1.0, lambda rng, rows, n: rng.exponential(size=(rows, n))),
    Family("lognormal 1", math.exp(0.5), lambda rng, rows, n: rng.lognormal(0, 1, (rows, n))),
    Family("lognormal 1.5", math.exp(1.125), lambda rng, rows, n: rng.lognormal(0, 1.5, (rows, n))),
    Family("pareto 2", 1.0, lambda rng, rows, n: rng.pareto(2, (rows, n))),
    Family("t 3", 0.0, lambda rng, rows, n: rng.standard_t(3, (rows, n))),
    Family("t 2", 0.0, lambda rng, rows, n: rng.standard_t(2, (rows, n))),
    Family("5 % at +10 sd", 0.5, _contaminated(0.05, 10)),
    Family("2 % at +20 sd", 0.4, _contaminated(0.02, 20)),
    Family("mixture", 0.5, _mixture),
    Family("rare ones", 0.05, _rare(0.05)),
    Family("rare ones, bounds", 0.05, _rare(0.05), (0.0, 1.0)),
    Family("mostly zero", 0.2, _mostly_zero),
    Family("rounded", 0.0, lambda rng, rows, n: np.round(rng.normal(size=(rows, n)))),
    Family("AR 0.5", 0.0, _following(0.5)),
    Family("AR 0.8", 0.0, _following(0.8)),
    Family("sticky ones, bounds", 0.5, _switching(1 / 3), (0.0, 1.0)),
    Family("MA 3", 0.0, _moving),
    Family("trend", 0.0, _trending),
    Family("rare bursts, bounds", 0.1, _bursts(0.1), (0.0, 1.0)),
    Family("60 % zero, copied bounds", 0.4 * math.exp(0.5), _some_lognormal, copied=True),
)
BEYOND: Final = (
    Family("lognormal 2", math.exp(2), lambda rng, rows, n: rng.lognormal(0, 2, (rows, n))),
    Family("pareto 1.5", 2.0, lambda rng, rows, n: rng.pareto(1.5, (rows, n))),
    Family("5 % at +20 sd", 1.0, _contaminated(0.05, 20)),
    Family("1 % at +100 sd", 1.0, _contaminated(0.01, 100)),
    Family("far mixture", 0.6, _far_mixture),
    Family("AR 0.9", 0.0, _following(0.9)),
    Family("very sticky ones, bounds", 0.5, _switching(0.2), (0.0, 1.0)),
    Family("slopes", 0.0, _sloping),
    Family("8 % at +15 sd", 1.2, _contaminated(0.08, 15)),
    Family("season of 60", 0.0, _seasonal),
    Family("regimes", 0.0, _regimes),
)
"""What is known not to be held at some sizes: samples of it often look like samples of something tame."""
