"""Split conformal prediction sets, with coverage that holds for finite samples (Vovk et al., 2005).

If calibration data and new data are exchangeable, the set contains the truth with probability of at least
1 - alpha: over the draw of both, not for each question, and no longer once the world has drifted.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from beliefd.kernel.claims.policy import UncertaintyPolicy
from beliefd.kernel.errors import invalid
from beliefd.uncertainty.calibrations import LEAST_ALPHA, Calibrated, Score
from beliefd.uncertainty.result import DEFAULT_POLICY, Measured, stated

Floats = NDArray[np.float64]
METHOD: Final = "conformal_set"
SUM_TOLERANCE: Final = 1e-3
SKETCHED: Final = 10_000
BLOCK: Final = 65_536
"""Rows are scored so many at a time, while they are in the processor's cache."""
DRIFT_LEVEL: Final = 0.01
_ROUNDING: Final = 1e-9
"""(n + 1)(1 - alpha) is often a whole number but for rounding; the rank must not jump for that."""


def minimum_size(alpha: float) -> int:
    """The fewest scores with a finite quantile: below it only the set of all labels has the coverage."""
    return math.ceil(1 / alpha - _ROUNDING) - 1


def rank(count: int, alpha: float) -> int:
    return math.ceil((count + 1) * (1 - alpha) - _ROUNDING)


def quantile(scores: Floats | Sequence[float], alpha: float) -> float:
    """The ceil((n + 1)(1 - alpha))-th smallest score. Fewer than the minimum are refused, not answered."""
    if not LEAST_ALPHA <= alpha <= 1 - LEAST_ALPHA:
        raise invalid(f"`alpha` of {alpha} is not between {LEAST_ALPHA} and {1 - LEAST_ALPHA}", "$.alpha")
    values = np.asarray(scores, dtype=np.float64)
    place = rank(len(values), alpha)
    if place > len(values):
        raise invalid(
            f"{len(values)} scores are too few for alpha {alpha}; give at least {minimum_size(alpha)}",
            "$.calibration",
        )
    if not np.isfinite(values).all():
        raise invalid("a calibration score is not finite", "$.calibration")
    return float(np.partition(values, place - 1)[place - 1])


def scores_of(
    probabilities: Floats | Sequence[Sequence[float]], labels: Sequence[int], score: Score = "lac"
) -> Floats:
    """How badly each row fits its true label: one minus its probability, or the mass down to it."""
    rows = _shaped(probabilities)
    truth = np.asarray(labels, dtype=np.int64)
    if len(truth) != len(rows):
        raise invalid(f"{len(rows)} rows, but {len(truth)} labels", "$.calibration.labels")
    if len(rows) and (truth.min() < 0 or truth.max() >= rows.shape[1]):
        raise invalid("a label is no column of the probabilities", "$.calibration.labels")
    found = np.empty(len(rows))
    firsts = np.arange(0, BLOCK * rows.shape[1], rows.shape[1])
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        _check(block, start)
        own = block.ravel().take(firsts[: len(block)] + truth[start : start + BLOCK])
        # APS: the mass of all labels that are at least as likely as the true one.
        score_of = 1 - own if score == "lac" else (block * (block >= own[:, None])).sum(axis=1)
        found[start : start + BLOCK] = score_of
    return found


def calibrate(
    scores: Floats | Sequence[float],
    alpha: float,
    score: Score = "lac",
    model: str = "",
    groups: Sequence[str] | None = None,
) -> Calibrated:
    values = np.asarray(scores, dtype=np.float64)
    whole = quantile(values, alpha)
    per_group: dict[str, float] = {}
    if groups is not None:
        if len(groups) != len(values):
            raise invalid(f"{len(values)} scores, but {len(groups)} groups", "$.calibration.groups")
        names = np.asarray(groups)
        for name in sorted(set(groups)):
            members = values[names == name]
            if rank(len(members), alpha) > len(members):
                raise invalid(
                    f"group `{name[:64]}` has {len(members)} scores, not {minimum_size(alpha)}",
                    "$.calibration.groups",
                )
            per_group[name] = quantile(members, alpha)
    return Calibrated(
        model=model,
        score=score,
        alpha=alpha,
        count=len(values),
        quantile=whole,
        groups=per_group,
        sketch=_sketch(values),
    )


def _sketch(values: Floats) -> tuple[float, ...]:
    """The shape of the scores. Every so many of a large set show it as well as all of them do."""
    some = values[:: max(1, len(values) // SKETCHED)]
    return tuple(float(value) for value in np.quantile(some, np.linspace(0, 1, 101)))


def predict(
    calibrated: Calibrated,
    probabilities: Floats | Sequence[Sequence[float]],
    groups: Sequence[str] | None = None,
) -> NDArray[np.bool_]:
    """One row of labels in or out for each row of probabilities. An unknown group gets all labels."""
    rows = checked_rows(probabilities)
    limit: Floats | float = calibrated.quantile
    if calibrated.groups:
        if groups is None or len(groups) != len(rows):
            raise invalid("the calibration is per group; name a group for each row", "$.group")
        limit = np.asarray([calibrated.groups.get(name, math.inf) for name in groups])[:, None]
    if calibrated.score == "lac":
        return np.asarray(rows >= 1 - limit - _ROUNDING)
    order = np.argsort(-rows, axis=1, kind="stable")
    mass = np.cumsum(np.take_along_axis(rows, order, axis=1), axis=1)
    inside = np.zeros(rows.shape, dtype=bool)
    np.put_along_axis(inside, order, mass <= limit + _ROUNDING, axis=1)
    return inside


def conformal_set(
    calibrated: Calibrated,
    probabilities: Sequence[float],
    labels: Sequence[str] | None = None,
    group: str | None = None,
    policy: UncertaintyPolicy = DEFAULT_POLICY,
) -> tuple[Measured, tuple[str, ...]]:
    """The labels that cannot be ruled out, and their number as an uncertainty: one is 0, all are 1."""
    names = [str(place) for place in range(len(probabilities))] if labels is None else list(labels)
    if len(names) != len(probabilities):
        raise invalid(f"{len(probabilities)} probabilities, but {len(names)} labels", "$.labels")
    inside = predict(calibrated, [list(probabilities)], None if group is None else [group])[0]
    found = tuple(name for name, kept in zip(names, inside, strict=True) if kept)
    level = f"{1 - calibrated.alpha:.0%} coverage, {calibrated.count} calibration scores"
    if not found:
        said = f"no label fits: unlike anything in the calibration set ({level})"
        return Measured(uncertainty=stated(METHOD, 1.0, said, policy)), found
    value = (len(found) - 1) / (len(names) - 1)
    said = f"{len(found)} of {len(names)} labels cannot be ruled out ({level})"
    return Measured(uncertainty=stated(METHOD, value, said, policy)), found


def drift(calibrated: Calibrated, recent: Sequence[float]) -> str | None:
    """A warning if recent scores do not look like those of the calibration (Kolmogorov-Smirnov)."""
    if not len(recent) or not calibrated.sketch:
        return None
    new = np.sort(np.asarray(recent, dtype=np.float64))
    grid = np.asarray(calibrated.sketch)
    ours = np.linspace(0, 1, len(grid))
    theirs = np.searchsorted(new, grid, side="right") / len(new)
    before = np.searchsorted(new, grid, side="left") / len(new)
    # A share counts as far off only past the step that ties or the sketch itself can explain.
    gap = float(np.max(np.minimum(np.abs(theirs - ours), np.abs(before - ours))))
    size = len(new) * calibrated.count / (len(new) + calibrated.count)
    chance = min(1.0, 2 * math.exp(-2 * size * gap * gap))
    if chance >= DRIFT_LEVEL:
        return None
    return (
        f"{len(new)} recent scores differ from the {calibrated.count} of the calibration "
        f"(distance {gap:.2f}, chance {chance:.1g}): its coverage is not to be relied on"
    )


def checked_rows(probabilities: Any) -> Floats:
    """Rows of probabilities as an array, or the reason why they are none."""
    rows = _shaped(probabilities)
    _check(rows)
    return rows


def _shaped(probabilities: Any) -> Floats:
    try:
        rows = np.ascontiguousarray(probabilities, dtype=np.float64)
    except ValueError:
        raise invalid("the rows of probabilities have different lengths", "$.probabilities") from None
    if rows.ndim != 2 or rows.shape[1] < 2:
        raise invalid("probabilities are rows of at least 2 numbers", "$.probabilities")
    return rows


def _check(rows: Floats, first: int = 0) -> None:
    """Refuse rows that are no probabilities; `first` is the place of the first of them."""
    if not len(rows):
        return
    sums = np.einsum("ij->i", rows)  # adds short rows faster than `sum` does
    # A sum is finite only if all its terms are.
    if not np.isfinite(sums).all() or rows.min() < 0:
        raise invalid("a probability is finite and not negative", "$.probabilities")
    off = np.abs(sums - 1)
    if off.max() > SUM_TOLERANCE:
        place = int(off.argmax())
        path = f"$.probabilities[{first + place}]"
        raise invalid(f"row {first + place} sums to {sums[place]:.4g}, not to 1", path)
