"""What replicates say about themselves: effective size, standard error, too many errors."""

import math
from typing import Final

import numpy as np

from beliefd.experiments.plan import Floats

MOST_CORRELATED: Final = 1 << 16


def effective_samples(values: Floats) -> float:
    """How many independent draws these are worth (Geyer's initial positive sequence).

    Of very many the first ones stand for all.
    """
    n = len(values)
    if n > MOST_CORRELATED:
        return effective_samples(values[:MOST_CORRELATED]) * n / MOST_CORRELATED
    if n < 4 or float(np.ptp(values)) == 0:
        return float(n)
    correlations = _autocorrelations(values)
    pairs = correlations[: n - n % 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    kept = pairs[: negative[0]] if len(negative) else pairs
    return float(min(n, n / max(2 * float(kept.sum()) - 1, 1 / n)))


def standard_error(values: Floats) -> float:
    """Of the mean of dependent draws."""
    if len(values) < 2:
        return 0.0
    return float(np.std(values, ddof=1)) / math.sqrt(effective_samples(values))


def excess(errors: int, trials: int, rate: float, deviations: float = 5) -> float:
    """How far an error rate is above the one that was promised, where 1 is the most that chance explains.

    Chance gets so many standard deviations; every run draws its own numbers, and a good one must not fail
    once in a thousand times. One error more is granted, for small counts.
    """
    allowed = trials * rate + deviations * math.sqrt(trials * rate * (1 - rate)) + 1
    return errors / allowed


def _autocorrelations(values: Floats) -> Floats:
    n = len(values)
    centred = values - values.mean()
    centred = centred / np.abs(centred).max()  # squares of very small numbers would be nothing
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size)) ** 2
    covariance = np.fft.irfft(spectrum, size)[:n]
    return np.asarray(covariance / covariance[0])
