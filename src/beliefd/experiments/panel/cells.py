"""One cell of the panel: many experiments of one family and size, each concluded by the real templates."""

from typing import Final

import numpy as np
from msgspec import Struct
from numpy.random import Generator, SeedSequence, default_rng

from beliefd.experiments.checks import checks
from beliefd.experiments.means import level_above, moments, uppers
from beliefd.experiments.panel.claims import (
    HALF,
    OF_MEANS,
    REPLICATES,
    Bounds,
    at_most_half,
    either_side,
    in_a_share,
    plan_of,
)
from beliefd.experiments.panel.families import BEYOND, FAMILIES, Family
from beliefd.experiments.panel.results import Cell
from beliefd.experiments.plan import Arm, Findings, Floats, Plan
from beliefd.experiments.registry import template
from beliefd.kernel.experiments.params import OfObservations, observed
from beliefd.kernel.experiments.plan import TemplateName

PILOT: Final = 200_000
DISTANCES: Final = (1.0, 2.0, 4.0)
"""In standard deviations: how far a true claim is from its edge."""
POWER: Final = 60
FIRST_BEYOND: Final = 1_000
NORMAL: Final = FAMILIES[0]


class Job(Struct, frozen=True):
    """What one process does at a time. Without a family: how often true claims are supported."""

    n: int
    templates: tuple[TemplateName, ...]
    experiments: int
    alpha: float
    seed: int
    family: str | None = None

    @property
    def work(self) -> int:
        """Roughly: the long ones begin first, so that no process is left alone with one at the end."""
        return self.n * self.experiments


def measured(job: Job) -> list[Cell]:
    """INVARIANT: an experiment depends on seed, family and size, not on what else is asked for."""
    if job.family is None:
        return _power(job)
    family = next(one for one in (*FAMILIES, *BEYOND) if one.name == job.family)
    rng = _rng(job, FAMILIES.index(family) if family in FAMILIES else FIRST_BEYOND + BEYOND.index(family))
    rows = family.draw(rng, job.experiments, job.n)
    cells = []
    for below in (True, False):
        of_means = [name for name in job.templates if name in OF_MEANS]
        cells += _false(job, of_means, family, rows, below)
        if "model_simulation" in job.templates:
            cells += _false_share(job, family, rows, below)
    return [*cells, *(_false_difference(job, family, rows) if "bootstrap_ci" in job.templates else ())]


def _rng(job: Job, place: int) -> Generator:
    return default_rng(SeedSequence(job.seed, spawn_key=(place, job.n)))


def _false(job: Job, names: list[TemplateName], family: Family, rows: Floats, below: bool) -> list[Cell]:
    """Claims that the mean is past the true one."""
    some = rows[_shown(family, rows, below, job.alpha)] if names else rows[:0]
    side = "below" if below else "above"
    found = []
    for name in names:
        supported = sum(
            solid(plan_of(name, row, family.mean, below, job.alpha, job.seed, family.declared(row)))
            for row in some
        )
        found.append(Cell(name, job.n, family.name, side, len(rows), supported))
    return found


def _false_difference(job: Job, family: Family, rows: Floats) -> list[Cell]:
    """Claims that the mean is not the true one: each side may use half of alpha."""
    sides = [_shown(family, rows, below, job.alpha / 2) for below in (True, False)]
    plans = [
        either_side(row, family.mean, job.alpha, job.seed, family.declared(row))
        for row in rows[sides[0] | sides[1]]
    ]
    return [Cell("bootstrap_ci", job.n, family.name, "either", len(rows), sum(map(solid, plans)))]


def _shown(
    family: Family, rows: Floats, below: bool, alpha: float
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """As below. Copied bounds are each sample's own, and there are none of values that do not vary."""
    if not family.copied:
        return shown(rows, family.mean, below, alpha, family.bounds)
    found = [
        bool(np.ptp(row)) and bool(shown(row[None, :], family.mean, below, alpha, family.declared(row))[0])
        for row in rows
    ]
    return np.asarray(found)


def shown(
    rows: Floats, edge: float, below: bool, alpha: float, bounds: Bounds = None
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which samples could support the claim: by the level that no template goes below.

    It only saves time. Whether they do is for the template to conclude.
    """
    turned = 1.0 if below else -1.0
    means, stds = moments(rows)
    found = np.asarray(level_above(turned * (edge - means), stds, rows.shape[1], True) <= alpha)
    high = None if bounds is None else max(turned * end for end in bounds)
    (some,) = np.nonzero(found)
    if len(some):
        levels = uppers(turned * rows[some], high).below(np.full(len(some), turned * edge), True)
        found[some] = levels <= alpha
    return found


def _false_share(job: Job, family: Family, rows: Floats, below: bool) -> list[Cell]:
    """Claims that as many values as there are, or more, are on one side of an edge."""
    share, edge = _share(job, family, below)
    held = (rows < edge if below else rows > edge).astype(np.float64)
    # The template asks the values themselves how much they are alike: here they are not, which saves no less.
    levels = uppers(-held, 0.0).stretched(np.ones(len(rows))).below(np.full(len(rows), -share), False)
    supported = sum(
        solid(in_a_share(row, edge, below, share, job.alpha, job.seed)) for row in rows[levels <= job.alpha]
    )
    return [Cell("model_simulation", job.n, family.name, "below" if below else "above", len(rows), supported)]


def _share(job: Job, family: Family, below: bool) -> tuple[float, float]:
    """The share of values on one side of an edge: of ones and zeros the true one, of others one half."""
    pilot = family.draw(_rng(job, len(FAMILIES)), PILOT // job.n, job.n)
    if np.isin(pilot, (0.0, 1.0)).all():
        return (1 - family.mean if below else family.mean), 0.5
    return HALF.at_least, at_most_half(pilot)[0 if below else 1]


def _power(job: Job) -> list[Cell]:
    """True claims about normal noise, some farther from their edge than others."""
    rows = NORMAL.draw(_rng(job, len(FAMILIES) + 1), POWER, job.n)
    return [
        Cell(name, job.n, NORMAL.name, "below", len(rows), sum(map(solid, plans)), distance)
        for name in job.templates
        for distance in DISTANCES
        for plans in [[plan_of(name, row, distance, True, job.alpha, job.seed, None) for row in rows]]
    ]


def solid(plan: Plan) -> bool:
    """Does a run of this plan support its claim, with no check that fails?"""
    found = concluded(plan)
    return found.decision.outcome == "support" and all(one.passed for one in checks(plan, found))


def concluded(plan: Plan) -> Findings:
    """What the template itself concludes, in this process."""
    chosen = template(plan.template)
    main = chosen.main(plan)
    with np.errstate(all="ignore"):
        drawn = {} if main is None else {main.name: _drawn(plan, main)}
        used = 0 if main is None else len(drawn[main.name])
        drawn |= {arm.name: _drawn(plan, arm) for arm in chosen.controls(plan, used)}
        return chosen.conclude(plan, drawn)


_toys: dict[tuple[object, ...], Floats] = {}


def _drawn(plan: Plan, arm: Arm) -> Floats:
    """Toys are worlds of their own: they are the same for all data of one size, but not for all priors."""
    if not arm.replicates:
        return np.empty((0, 1))
    count = min(arm.replicates, REPLICATES)
    if arm.name != "toy" or plan.template == "bayesian_update":
        return template(plan.template).draw(plan, arm, 0, count)
    size = len(observed(plan.params)) if isinstance(plan.params, OfObservations) else 0
    key = (plan.template, arm, plan.seed, size, None if size else plan.criterion)
    if key not in _toys:
        _toys[key] = template(plan.template).draw(plan, arm, 0, count)
    return _toys[key]
