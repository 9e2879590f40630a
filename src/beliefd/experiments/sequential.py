"""Looking as often as one likes: e-processes for a rate, confidence sequences, and e-BH over many claims.

An e-process is a bet against a hypothesis whose capital has an expectation of at most 1 at any time, if the
hypothesis is true. By Ville's inequality it ever reaches 1 / alpha with a chance of at most alpha, so to stop
when it does is no error of peeking (Howard et al., 2021; Ramdas et al., 2023).
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from beliefd.experiments.plan import Decision, Floats
from beliefd.kernel.experiments.plan import RunOutcome

EVERY_LOOK: Final = 4_096
LOOK_STEP: Final = 256


def log_capital(successes: Floats, failures: Floats, rate: float, above: bool) -> Floats:
    """The log of the capital of a bet that the true rate is above (or below) `rate`.

    It is spread evenly over all rates on that side. Against every rate on the other side the expectation of
    each step is at most 1, so this tests the whole side, not only its edge.
    """
    from scipy.special import betainc, betaincc, betaln

    share = (betaincc if above else betainc)(successes + 1, failures + 1, rate)
    width = 1 - rate if above else rate
    with np.errstate(divide="ignore"):
        mixed = betaln(successes + 1, failures + 1) + np.log(share) - math.log(width)
    return np.asarray(mixed - successes * math.log(rate) - failures * math.log1p(-rate))


class Walk(Decision, frozen=True):
    """Where a sequence of replicates led. `steps` is where it was decided, or its whole length."""

    steps: int
    log_support: float
    """The largest log capital of the bet for the claim, and of that against it."""
    log_refute: float


def walk(held: NDArray[np.bool_], failed: NDArray[np.bool_], rate: float, alpha: float) -> Walk:
    """Does a claim hold in at least a share `rate` of replicates? Decided at the first look that can tell.

    INVARIANT: a replicate that failed counts against whatever is to be shown: as one in which the claim did
    not hold when it is to be supported, as one in which it held when it is to be refuted.
    """
    looks = looked_at(len(held))
    if not len(looks):
        return Walk("unresolved", 1.0, 0, 0.0, 0.0)
    counts = looks + 1.0
    for_claim = np.cumsum(held & ~failed)[looks].astype(np.float64)
    at_best = np.cumsum(held | failed)[looks].astype(np.float64)
    support = log_capital(for_claim, counts - for_claim, rate, above=True)
    refute = log_capital(at_best, counts - at_best, rate, above=False)
    crossed = np.flatnonzero(np.maximum(support, refute) >= -math.log(alpha))
    best_support, best_refute = (max(0.0, float(path.max())) for path in (support, refute))
    if not len(crossed):
        return Walk("unresolved", 1.0, len(held), best_support, best_refute)
    at = crossed[0]
    outcome: RunOutcome = "support" if support[at] > refute[at] else "refute"
    error = math.exp(-(best_support if outcome == "support" else best_refute))
    return Walk(outcome, error, int(looks[at]) + 1, best_support, best_refute)


def decisive(held: NDArray[np.bool_], failed: NDArray[np.bool_], rate: float, alpha: float) -> bool:
    """Would a walk be decided by a look at its very end?"""
    count = float(len(held))
    for_claim, at_best = float((held & ~failed).sum()), float((held | failed).sum())
    support = log_capital(np.asarray(for_claim), np.asarray(count - for_claim), rate, above=True)
    refute = log_capital(np.asarray(at_best), np.asarray(count - at_best), rate, above=False)
    return bool(max(support, refute) >= -math.log(alpha))


def ever_shown(held: NDArray[np.bool_], rate: float, alpha: float, above: bool) -> NDArray[np.bool_]:
    """For rows of replicates: which of them ever show a rate above (or below) this one, at any look?"""
    steps = held.shape[1]
    # Walks meet at few places, so each place is worked out once: after so many steps, with so many successes.
    met, where = np.unique(
        np.cumsum(held, axis=1) + (steps + 1) * np.arange(1, steps + 1), return_inverse=True
    )
    counts, successes = (part.astype(np.float64) for part in np.divmod(met, steps + 1))
    shown = log_capital(successes, counts - successes, rate, above) >= -math.log(alpha)
    return np.asarray(shown[where].reshape(held.shape).any(axis=1))


def looked_at(count: int) -> NDArray[np.int64]:
    """After which replicates one looks: after each of the first thousands, then after every so many."""
    rest = np.arange(EVERY_LOOK + LOOK_STEP - 1, count, LOOK_STEP)
    return np.concatenate([np.arange(min(count, EVERY_LOOK)), rest])


def confidence_sequence(successes: int, failures: int, alpha: float) -> tuple[float, float]:
    """Rates that cannot be ruled out, at all times at once with a chance of at least 1 - alpha."""
    from scipy.special import betaln, xlog1py, xlogy

    if successes + failures == 0:
        return 0.0, 1.0
    most = float(betaln(successes + 1, failures + 1)) + math.log(alpha)
    centre = successes / (successes + failures)

    def ruled_out(rate: float) -> bool:
        return most > float(xlogy(successes, rate) + xlog1py(failures, -rate))

    return _edge(ruled_out, 0.0, centre), _edge(ruled_out, 1.0, centre)


def _edge(ruled_out: Callable[[float], bool], outer: float, inner: float) -> float:
    """Between an end that may be ruled out and a centre that is not."""
    if not ruled_out(outer):
        return outer
    for _ in range(60):
        middle = (outer + inner) / 2
        outer, inner = (middle, inner) if ruled_out(middle) else (outer, middle)
    return outer


def e_value(error_level: float) -> float:
    """What a p-value is worth as an e-value; less than its inverse, for p-values cannot be multiplied."""
    return min(1e300, 0.5 / math.sqrt(max(error_level, 1e-300)))


def e_bh(e_values: Sequence[float], alpha: float) -> tuple[int, ...]:
    """Which of many claims to believe so that at most a share alpha of them is wrong, on average.

    It holds however the claims depend on each other (Wang and Ramdas, 2022).
    """
    ranked = sorted(range(len(e_values)), key=lambda place: -e_values[place])
    count = len(e_values)
    kept = max((k for k in range(1, count + 1) if k * e_values[ranked[k - 1]] >= count / alpha), default=0)
    return tuple(sorted(ranked[:kept]))
