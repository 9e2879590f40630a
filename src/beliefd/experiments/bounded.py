"""What can be shown about a mean whatever the shape of the noise: Gaffke's level, computed and not simulated.

Weigh the observations by independent exponentials, with one more observation at the end of the range. The
chance that the weighted sum lies past a value is the level at which the mean is shown to lie short of it
(Gaffke, 2005). Nothing is assumed but the end of the range.

Observations that depend on each other are worth fewer. Then each is weighed by a gamma random number whose
shape is what it is worth: an exponential is one of shape 1, and two of shape 1/2 make an exponential.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from beliefd.experiments.plan import Floats

STEP: Final = 0.25
NODES: Final = np.arange(0.0, 12.0, STEP)
"""Places on the path of integration: with these the chance has seven digits or more."""
TOGETHER: Final = 32
"""Factors are below 1e5, so that the product of so many is still a number."""
HALVINGS: Final = 28
AT_ONCE: Final = 1 << 20
LEAST: Final = 1e-60
"""A weight below this share of the largest one is nothing: the chance that it decides is as small."""


def chance_above_zero(weights: Floats, shapes: Floats | None = None) -> Floats:
    """For each row: the chance that the sum of its weights, times independent exponentials, is above 0.

    With shapes, times gamma random numbers of these shapes.
    """
    shapes = np.ones_like(weights) if shapes is None else shapes
    scaled = weights / np.maximum(np.abs(weights).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    # The tail is computed, never what is left of it: one minus a chance has no small digits.
    turned = (shapes * scaled).sum(axis=1) > 0
    scaled = np.where(turned[:, None], -scaled, scaled)
    found = np.zeros(len(weights))
    (open_rows,) = np.nonzero(scaled.max(axis=1) > LEAST)
    size = max(1, AT_ONCE // (weights.shape[1] * len(NODES)))
    for start in range(0, len(open_rows), size):
        rows = open_rows[start : start + size]
        found[rows] = _tail(scaled[rows], shapes[rows])
    return np.where(turned, 1 - found, found)


def _tail(weights: Floats, shapes: Floats) -> Floats:
    """By the inversion integral of the moment generating function, along a path through its saddle point.

    The path is a hyperbola with the curvature of steepest descent, on which nothing oscillates: so the
    trapezoidal rule needs few nodes, and small chances keep their digits.
    """
    saddle = _saddle(weights, shapes)
    pulls = weights / (1 - weights * saddle[:, None])
    width = 1 / np.sqrt((shapes * pulls**2).sum(axis=1) + 1 / saddle**2)
    bend = 2 / 3 * width**3 * ((shapes * pulls**3).sum(axis=1) - 1 / saddle**3)
    step = width[:, None] * (1j * np.sinh(NODES) + bend[:, None] * (np.cosh(NODES) - 1))
    slope = width[:, None] * (1j * np.cosh(NODES) + bend[:, None] * np.sinh(NODES))
    logs = _log_products(pulls, step, shapes)
    along = (np.exp(-logs) / (1 + step / saddle[:, None]) * slope).imag
    along[:, 0] /= 2
    height = np.exp(-(shapes * np.log1p(-weights * saddle[:, None])).sum(axis=1)) / saddle
    return np.asarray(np.clip(height * along.sum(axis=1) * STEP / math.pi, 0.0, 1.0))


def _log_products(pulls: Floats, step: NDArray[np.complex128], shapes: Floats) -> NDArray[np.complex128]:
    """The log of the product over all weights, at each node. Logs are slow, so some factors share one.

    A power that is no whole number needs the log of each factor: that of a product may be turns of the circle
    off.
    """
    factors = 1 - pulls[:, :, None] * step[:, None, :]
    if (shapes != 1).any():
        return np.asarray((shapes[:, :, None] * np.log(factors)).sum(axis=1))
    shared = np.multiply.reduceat(factors, np.arange(0, pulls.shape[1], TOGETHER), axis=1)
    return np.asarray(np.log(shared).sum(axis=1))


def _saddle(weights: Floats, shapes: Floats) -> Floats:
    """Where the integrand is smallest between its poles at 0 and at the inverse of the largest weight."""
    low, high = np.zeros(len(weights)), 1 / weights.max(axis=1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rising = (shapes * weights / (1 - weights * middle[:, None])).sum(axis=1) > 1 / middle
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    return np.asarray(low)


def level_below(rows: Floats, values: Floats, ends: Floats, worth: Floats | None = None) -> Floats:
    """For each row: the level at which its mean is shown to be below a value, by the upper end of its range.

    `worth` is the part of an independent observation that each one of a row is worth. The level is never
    below that of a sign test: so many values have to be there before anything is shown.
    """
    worth = np.ones(len(rows)) if worth is None else worth
    weights = np.column_stack([rows, ends]) - values[:, None]
    shapes = np.column_stack([np.repeat(worth[:, None], rows.shape[1], axis=1), np.ones(len(rows))])
    return np.asarray(np.maximum(chance_above_zero(weights, shapes), 0.5 ** (worth * rows.shape[1])))
