"""Does the order of observations say that they depend on each other? A permutation test, exact for any noise.

If observations are independent, every order of them is equally likely. So their autocorrelations are compared
with those of the same observations in random orders.
"""

from typing import Final

import numpy as np

from beliefd.experiments.plan import Arm, Floats
from beliefd.experiments.rng import chunks, uniforms

ORDERS: Final = 199
ORDER_ARM: Final = 50
FEWEST: Final = 5
"""Fewer values have too few orders."""
FARTHEST: Final = 20
"""Neighbours that are farther apart are not compared."""
SHARES: Final = (0.8, 0.2)
"""Of the error that is granted: for direct neighbours, which depend most often, and for all others."""


def order_arm(values: Floats) -> Arm:
    n = len(values)
    apply = n >= FEWEST and float(np.ptp(values)) > 0
    return Arm("order", ORDER_ARM, ORDERS if apply else 0, 150.0 * n + 500)


def draw_orders(values: Floats, seed: int, arm: Arm, first: int, count: int) -> Floats:
    """Autocorrelations of the values in random orders."""
    even, found = _even(values), []
    for start, some in chunks(first, count, len(values)):
        orders = uniforms(seed, arm.index, start, some, len(values)).argsort(axis=1)
        found.append(likeness(even[orders]))
    return np.concatenate(found)


def _even(values: Floats) -> Floats:
    """Around 0 and at most 1: products of very large or very small numbers would be none."""
    centred = values - values.mean()
    return np.asarray(centred / np.abs(centred).max())


def likeness(rows: Floats) -> Floats:
    """How much direct neighbours are alike, and those at the distance at which they are most alike."""
    n = rows.shape[1]
    distances = range(1, min(n // 2, FARTHEST) + 1)
    alike = [(rows[:, far:] * rows[:, :-far]).sum(axis=1) / np.sqrt(n - far) for far in distances]
    return np.column_stack([alike[0], np.max(alike, axis=0)])


def order_chance(values: Floats, drawn: Floats) -> float | None:
    """The chance of neighbours as alike as here, if the order means nothing; None if there are too few.

    INVARIANT: values that are all the same have no order that could show that they depend on each other. So
    nothing speaks for their independence, and the chance is 0.
    """
    if len(values) > 1 and float(np.ptp(values)) == 0:
        return 0.0
    if not len(drawn):
        return None
    seen = likeness(_even(values)[None, :])
    # Sums of the same numbers in another order differ by rounding, which must not break a tie.
    as_alike = 1 + (drawn >= seen - 1e-9 * np.abs(seen)).sum(axis=0)
    return min(1.0, *(float(chance) for chance in as_alike / (1 + len(drawn)) / SHARES))
