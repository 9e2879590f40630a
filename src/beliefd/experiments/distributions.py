"""Inputs of a model from numbers between 0 and 1, by their quantile functions: one number per draw."""

import math
from typing import Final

import numpy as np
from msgspec.structs import replace
from scipy.special import ndtri

from beliefd.experiments.plan import Floats
from beliefd.kernel.experiments.params import (
    Bernoulli,
    Data,
    Distribution,
    Exponential,
    LogNormal,
    Normal,
    Uniform,
)

BELLS: Final = (Normal, LogNormal)


def quantiles(
    distribution: Distribution, even: Floats, heavy: bool = False, out: Floats | None = None
) -> Floats:
    """Draws. With `heavy`, normal noise has the tails of Student's t with 4 degrees of freedom instead.

    They may be put into `out`: memory that is new takes longer to get than numbers take to compute.
    """
    if isinstance(distribution, BELLS):
        found = student(even) if heavy else ndtri(even, out=out)
        found = _moved(found, distribution.std, distribution.mean, out=found)
        return np.exp(found) if isinstance(distribution, LogNormal) else found
    if isinstance(distribution, Uniform):
        return _moved(even, distribution.high - distribution.low, distribution.low, out)
    if isinstance(distribution, Exponential):
        return np.asarray(-distribution.mean * np.log1p(-even))
    if isinstance(distribution, Bernoulli):
        return (even < distribution.probability).astype(np.float64)
    if isinstance(distribution, Data):
        values = np.asarray(distribution.values)
        return values[(even * len(values)).astype(np.int64)]
    return np.full(len(even), distribution.value)


def _moved(values: Floats, factor: float, by: float, out: Floats | None = None) -> Floats:
    """Each times a factor, and then moved. To multiply by 1 changes no bit, and takes as long as to add."""
    scaled = values if factor == 1 else np.multiply(values, factor, out=out)
    return np.add(scaled, by, out=out if scaled is values else scaled)


def student(even: Floats) -> Floats:
    """Student's t with 4 degrees of freedom, scaled to a variance of 1: its quantiles have a closed form."""
    root = np.sqrt(4 * even * (1 - even))
    length = np.sqrt(np.maximum(0.0, np.cos(np.arccos(np.minimum(1.0, root)) / 3) / root - 1))
    return np.asarray(np.sign(even - 0.5) * math.sqrt(2) * length)


def widened(distribution: Distribution, factor: float) -> Distribution:
    """The same with more spread. What is declared exact, or as a chance, stays."""
    if isinstance(distribution, Normal | LogNormal):
        return replace(distribution, std=distribution.std * factor)
    if isinstance(distribution, Uniform):
        centre, half = (distribution.low + distribution.high) / 2, (distribution.high - distribution.low) / 2
        return replace(distribution, low=centre - factor * half, high=centre + factor * half)
    if isinstance(distribution, Exponential):
        return replace(distribution, mean=distribution.mean * factor)
    if isinstance(distribution, Data):
        centre = math.fsum(distribution.values) / len(distribution.values)
        return replace(
            distribution, values=tuple(centre + factor * (value - centre) for value in distribution.values)
        )
    return distribution
