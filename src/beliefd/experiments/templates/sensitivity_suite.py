"""sensitivity_suite: is a claim about a mean shown, and does it survive wider noise and what may be off?

It begins with the test that `numeric_consistency` makes of the same observations: the same rule, the same
controls from the same random numbers, the same checks. On top of that come perturbations. Their noise is as
large as the standard error of the mean, times the widening factor. A flip is a perturbed mean of which the
claim no longer holds. The claim must hold in every declared cell: each corner of the axes under each model of
the noise. INVARIANT: perturbations can only take an outcome away.
"""

import itertools
import math
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from scipy.special import bdtr, bdtrc, ndtr, ndtri

from beliefd.experiments.diagnostics import effective_samples, standard_error
from beliefd.experiments.distributions import student
from beliefd.experiments.means import mean_of, sample, stretches
from beliefd.experiments.plan import Arm, Decision, Diagnosis, Drawn, Findings, Floats, Plan, Template
from beliefd.experiments.regions import Span, about, beyond, claimed, decided, failure, shown
from beliefd.experiments.rng import uniforms
from beliefd.experiments.sobol import BASE, evaluations, totals
from beliefd.experiments.templates import averages
from beliefd.experiments.templates.averages import bounds_of, diagnosis, independent, observed
from beliefd.kernel.experiments.params import SensitivitySuite
from beliefd.kernel.experiments.plan import AtLeast, Near

MOST_FLIPS: Final = 0.15
SEED_ROOTS: Final = 8
"""Series of perturbations from other random numbers each; a rate is taken over all of them."""
SOBOL: Final = 20
ROOT_ARM: Final = 60
SHARED: Final = ("toy", "shape", "order")
"""Arms of the test underneath."""


class Result(Struct, frozen=True):
    """`flip_rate` is that of the worst cell."""

    flip_rate: float
    stable: bool
    fragile: bool
    ci_low: float
    ci_high: float
    cells: int
    cells_held: int


class Estimate(Struct, frozen=True):
    """What is perturbed: a mean, its standard error, and by how many of those each corner is off."""

    mean: float
    error: float
    widening: float
    corners: Floats

    @property
    def spread(self) -> float:
        return self.widening * self.error

    @property
    def centres(self) -> Floats:
        return np.asarray(self.mean + self.error * self.corners)

    def held(self, span: Span, noise: Floats) -> Floats:
        """In how many perturbations the claim holds: a row a corner, a column a model of the noise."""
        off = self.widening * noise + self.corners[:, None, None]
        return np.asarray(span.holds(self.mean + self.error * off).sum(axis=1), dtype=np.float64)


def main(plan: Plan) -> Arm:
    return _root(plan, 0)


def _root(plan: Plan, number: int) -> Arm:
    return Arm(f"root{number}", ROOT_ARM + number, plan.of(SensitivitySuite).n_perturbations, 300.0)


def controls(plan: Plan, _: int) -> tuple[Arm, ...]:
    roots = tuple(_root(plan, number) for number in range(1, SEED_ROOTS))
    return (*averages.controls(plan), *roots, Arm("sobol", SOBOL, BASE, 1_000.0))


def draw(plan: Plan, arm: Arm, first: int, count: int) -> Floats:
    if arm.name in SHARED:
        return averages.draw(plan, arm, first, count)
    if arm.name == "sobol":
        params = plan.of(SensitivitySuite)
        found = _estimate(plan, _claimed(plan))
        return evaluations(
            plan.seed,
            arm.index,
            first,
            count,
            1 + len(params.axes),
            lambda rows: _output(params, found, rows),
        )
    return _noise(uniforms(plan.seed, arm.index, first, count, 1)[:, 0])


def _noise(even: Floats) -> Floats:
    """The same draw as noise of variance 1, by three models: a column each."""
    side = np.sign(even - 0.5)
    tail = 1 - np.abs(2 * even - 1)
    laplace = -side * np.log(tail) / math.sqrt(2)
    return np.column_stack([ndtri(even), laplace, student(even)])


def _output(params: SensitivitySuite, found: Estimate, rows: Floats) -> Floats:
    """The perturbed mean, at a point in the cube of the noise and all axes."""
    shift = found.widening * ndtri(rows[:, 0])
    for place, reach in enumerate(params.axes):
        shift = shift + reach * (2 * rows[:, 1 + place] - 1)
    return np.asarray(found.mean + found.error * shift)


def _estimate(plan: Plan, span: Span) -> Estimate:
    """Where nothing varies, nothing is known about noise: it is taken to be what the claim tolerates."""
    params, values = plan.of(SensitivitySuite), observed(plan)
    found = sample(values)
    spread = found.std if found.std > 0 else abs(float(span.inside(np.asarray(found.mean)))) or 1.0
    error = spread * float(stretches(values[None, :], False)[0]) / math.sqrt(found.n)
    return Estimate(found.mean, error, params.prior_widening_factor, _corners(params))


def _corners(params: SensitivitySuite) -> Floats:
    """How many standard errors off each corner is. Without axes there is one: nothing is off."""
    signed = [(-reach, reach) for reach in params.axes if reach > 0]
    return np.asarray(sorted({math.fsum(corner) for corner in itertools.product(*signed)}))


def _claimed(plan: Plan) -> Span:
    """The criterion's region, else the side of the null on which the mean is."""
    params, mean = plan.of(SensitivitySuite), sample(observed(plan)).mean
    if isinstance(plan.criterion, Near):
        return about(plan.criterion.value, plan.criterion.tolerance, mean)
    if plan.criterion is not None and not isinstance(plan.criterion, AtLeast):
        return claimed(plan.criterion)
    return beyond(params.null_value, mean >= params.null_value)


def conclude(plan: Plan, drawn: Drawn) -> Findings:
    span, rate = _claimed(plan), _rate(plan)
    found = _estimate(plan, span)
    series = [drawn[f"root{number}"] for number in range(SEED_ROOTS)]
    noise = np.concatenate(series)
    held = found.held(span, noise)
    underneath = _underneath(plan, span)
    decision = _decision(found, span, noise, rate, plan.alpha, underneath)
    fragile = decision.outcome == "unresolved" and _flips_shown(held, len(noise), rate, plan.alpha)
    worst = 1 - float(held.min()) / len(noise)
    normal = found.mean + found.spread * noise[:, 0]
    low, high = (float(end) for end in np.quantile(normal, [plan.alpha / 2, 1 - plan.alpha / 2]))
    roots = [float(found.held(span, one).min()) / len(one) for one in series]
    turned = {"cells": fragile, "roots": decision.outcome == "support" and min(roots) < rate}
    flips = tuple(name for name, flipped in turned.items() if flipped)
    base = diagnosis(plan, drawn, span, decided(*underneath, plan.alpha))
    return Findings(
        model=f"{independent(plan)}, and their mean with {found.widening:g} times its standard error in "
        f"{held.size} cells: is the claim shown, and does it survive?",
        decision=decision,
        failure_mode=failure(decision, "sign_flip", "violated_assumption" if fragile else "nonidentifiable"),
        result=Result(
            worst, worst < 1 - rate, fragile, low, high, held.size, int((held >= rate * len(noise)).sum())
        ),
        diagnosis=_diagnosis(plan, found, span, drawn, flips, base),
        replicates=len(series[0]),
    )


def _rate(plan: Plan) -> float:
    """In which share of the perturbations the claim must hold, in each cell."""
    return plan.criterion.at_least if isinstance(plan.criterion, AtLeast) else 1 - MOST_FLIPS


def _underneath(plan: Plan, span: Span) -> tuple[float, float]:
    """The levels at which the observations themselves support the claim, and refute it.

    A side that was chosen by looking at the data costs a factor of two, and cannot be refuted.
    """
    found = mean_of(observed(plan), bounds_of(plan))
    support, refute = shown(span, *found.levels)
    if plan.criterion is None or isinstance(plan.criterion, AtLeast):
        return min(1.0, 2 * support), 1.0
    return support, refute


def _decision(
    found: Estimate, span: Span, noise: Floats, rate: float, alpha: float, underneath: tuple[float, float]
) -> Decision:
    """Support needs every cell, and so does refutation; hence no correction for there being many.

    A claim is refuted when perturbed means stay past it, all on one side. Those that scatter around a region
    that is too narrow for their noise say nothing against it. INVARIANT: more perturbations make the rate of
    flips better known, not the mean; so no level is below that of the test underneath.
    """
    past = [Span(low=span.high, strict=not span.strict), Span(high=span.low, strict=not span.strict)]
    sides = [one for one in past if math.isfinite(one.low) or math.isfinite(one.high)]
    refute = min(_level(found, one, noise, max(rate, 1 - rate)) for one in sides)
    survives = _level(found, span, noise, rate), min(1.0, len(sides) * refute)
    return decided(max(survives[0], underneath[0]), max(survives[1], underneath[1]), alpha)


def _level(found: Estimate, span: Span, noise: Floats, rate: float) -> float:
    """The level at which the mean is shown to stay in a region often enough, in every cell."""
    held = found.held(span, noise)
    return float(np.where(held < 1, 1.0, bdtrc(held - 1, len(noise), rate)).max())


def _flips_shown(held: Floats, count: int, rate: float, alpha: float) -> bool:
    """Is there a cell in which the claim is shown to hold too rarely, however many cells were looked at?"""
    return bool((bdtr(held, count, rate) <= alpha / held.size).any())


def _diagnosis(
    plan: Plan, found: Estimate, span: Span, drawn: Drawn, flips: tuple[str, ...], base: Diagnosis
) -> Diagnosis:
    """All that the test underneath says of itself, and what the perturbations add to it."""
    noise = np.concatenate([drawn[f"root{number}"] for number in range(SEED_ROOTS)])
    exact = ndtr((span.high - found.centres) / found.spread) - ndtr((span.low - found.centres) / found.spread)
    seen = found.held(span, noise)[:, 0] / len(noise)
    chance = np.sqrt(np.maximum(exact * (1 - exact), 1 / len(noise)) / len(noise))
    off = float((np.abs(seen - exact) / (4.5 * chance)).max())
    size = effective_samples(noise[:, 0])
    return replace(
        base,
        toy_error=max(base.toy_error or 0.0, off, _control(plan, found, span, noise)),
        effective_samples=size,
        flips=(*base.flips, *flips),
        told={
            **base.told,
            "monte_carlo_error": standard_error(noise[:, 0]) * found.spread,
            "effective_samples": size,
            "exact_flip_rate": float(1 - exact.min()),
            "sobol_totals": totals(drawn["sobol"]),
            "flip_factor": _flip_factor(span, found.centres, found.error, _rate(plan)),
            "flips": [*base.flips, *flips],
        },
    )


def _control(plan: Plan, found: Estimate, span: Span, noise: Floats) -> float:
    """A mean that sits on the edge of the region holds in half of all worlds at most: it must not survive."""
    edge = span.low if math.isfinite(span.low) else span.high
    there = replace(found, mean=edge, error=1.0)
    decision = _decision(there, span, noise, max(0.6, _rate(plan)), plan.alpha, (0.0, 1.0))
    return 2.0 if decision.outcome == "support" else 0.0


def _flip_factor(span: Span, centres: Floats, error: float, rate: float) -> float | None:
    """The smallest widening at which a one-sided claim would flip too often in the worst corner."""
    inside = float(span.inside(centres).min())
    if (math.isfinite(span.low) and math.isfinite(span.high)) or inside <= 0 or rate <= 0.5:
        return None
    return inside / (error * float(ndtri(rate)))


TEMPLATE = Template(
    name="sensitivity_suite",
    version=2,
    result=Result,
    conclude=conclude,
    main=main,
    draw=draw,
    controls=controls,
)
