"""Inputs of a model from numbers between 0 and 1, by their quantile functions: one number per draw."""

import math

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


def quantiles(distribution: Distribution, even: Floats, heavy: bool = False) -> Floats:
    """Draws. With `heavy`, normal noise has the tails of Student's t with 4 degrees of freedom instead."""
    if isinstance(distribution, Normal | LogNormal):
        found = student(even) if heavy else np.asarray(ndtri(even))
        found *= distribution.std
        found += distribution.mean
        return np.asarray(np.exp(found)) if isinstance(distribution, LogNormal) else found
    if isinstance(distribution, Uniform):
        found = (distribution.high - distribution.low) * even
        found += distribution.low
        return found
    if isinstance(distribution, Exponential):
        return np.asarray(-distribution.mean * np.log1p(-even))
    if isinstance(distribution, Bernoulli):
        return (even < distribution.probability).astype(np.float64)
    if isinstance(distribution, Data):
        values = np.asarray(distribution.values)
        return values[(even * len(values)).astype(np.int64)]
    return np.full(len(even), distribution.value)


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
