"""Which input moves the output: Sobol's total indices, estimated by scipy from draws of our own."""

from collections.abc import Callable
from typing import Final, Literal

import numpy as np

from beliefd.experiments.plan import Floats
from beliefd.experiments.rng import uniforms

BASE: Final = 256
"""How many pairs of points; scipy wants a power of two."""


def evaluations(
    seed: int, arm: int, first: int, count: int, dimensions: int, output: Callable[[Floats], Floats]
) -> Floats:
    """The output at two independent points a replicate, and at the first with one coordinate of the second.

    `output` takes rows of numbers between 0 and 1.
    """
    drawn = uniforms(seed, arm, first, count, 2 * dimensions)
    here, there = drawn[:, :dimensions], drawn[:, dimensions:]
    columns = [output(here), output(there)]
    for place in range(dimensions):
        mixed = here.copy()
        mixed[:, place] = there[:, place]
        columns.append(output(mixed))
    return np.column_stack(columns)


def totals(evaluated: Floats) -> list[float] | None:
    """The share of the output's variance in which each input has a part; None if there is none to share."""
    from scipy.stats import sobol_indices

    if evaluated.shape[1] == 3:
        return [1.0]
    if not np.isfinite(evaluated).all() or float(np.ptp(evaluated)) == 0:
        return None
    scaled = evaluated / np.abs(evaluated).max()
    outputs: dict[Literal["f_A", "f_B", "f_AB"], Floats] = {
        "f_A": scaled[None, :, 0],
        "f_B": scaled[None, :, 1],
        "f_AB": scaled[:, 2:].T[:, None, :],
    }
    found = sobol_indices(func=outputs, n=len(evaluated), dists=None).total_order
    shares = np.asarray(found, dtype=np.float64).ravel()
    return [float(share) for share in np.clip(shares, 0, 1)] if np.isfinite(shares).all() else None
