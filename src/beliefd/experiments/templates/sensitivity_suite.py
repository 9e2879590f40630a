"""sensitivity_suite: does a result survive wider priors, other noise, and every corner of what may be off?

The noise is as large as the result's own interval says, times the widening factor. A flip is a perturbed
estimate of which the claim no longer holds. The claim must hold in every declared cell: each corner of the
axes under each model of the noise.
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
from beliefd.experiments.plan import Arm, Decision, Diagnosis, Drawn, Findings, Floats, Plan, Template
from beliefd.experiments.regions import Span, beyond, claimed, decided, failure
from beliefd.experiments.rng import uniforms
from beliefd.experiments.sobol import BASE, evaluations, totals
from beliefd.kernel.experiments.params import SensitivitySuite
from beliefd.kernel.experiments.plan import AtLeast

MOST_FLIPS: Final = 0.15
SEED_ROOTS: Final = 8
"""Series of perturbations from other random numbers each; a rate is taken over all of them."""
SOBOL: Final = 20


class Result(Struct, frozen=True):
    """`flip_rate` is that of the worst cell."""

    flip_rate: float
    stable: bool
    fragile: bool
    ci_low: float
    ci_high: float
    cells: int
    cells_held: int


def main(plan: Plan) -> Arm:
    return _root(plan, 0)


def _root(plan: Plan, number: int) -> Arm:
    return Arm(f"root{number}", number, plan.of(SensitivitySuite).n_perturbations, 300.0)


def controls(plan: Plan, _: int) -> tuple[Arm, ...]:
    roots = tuple(_root(plan, number) for number in range(1, SEED_ROOTS))
    return (*roots, Arm("sobol", SOBOL, BASE, 1_000.0))


def draw(plan: Plan, arm: Arm, first: int, count: int) -> Floats:
    params = plan.of(SensitivitySuite)
    if arm.name == "sobol":
        return evaluations(
            plan.seed, arm.index, first, count, 1 + len(params.axes), lambda rows: _output(params, rows)
        )
    return _noise(uniforms(plan.seed, arm.index, first, count, 1)[:, 0])


def _noise(even: Floats) -> Floats:
    """The same draw as noise of variance 1, by three models: a column each."""
    side = np.sign(even - 0.5)
    tail = 1 - np.abs(2 * even - 1)
    laplace = -side * np.log(tail) / math.sqrt(2)
    return np.column_stack([ndtri(even), laplace, student(even)])


def _output(params: SensitivitySuite, rows: Floats) -> Floats:
    """The perturbed estimate, at a point in the cube of the noise and all axes."""
    shift = params.prior_widening_factor * ndtri(rows[:, 0])
    for place, reach in enumerate(params.axes):
        shift = shift + reach * (2 * rows[:, 1 + place] - 1)
    return np.asarray(params.base.estimate + _standard_error(params) * shift)


def _standard_error(params: SensitivitySuite) -> float:
    width = params.base.ci_high - params.base.ci_low
    return float(width / (2 * ndtri((1 + params.base.confidence_level) / 2)))


def _claimed(plan: Plan, params: SensitivitySuite) -> Span:
    """The criterion's region, else the side of the null on which the estimate is."""
    if plan.criterion is not None and not isinstance(plan.criterion, AtLeast):
        return claimed(plan.criterion)
    return beyond(params.null_value, params.base.estimate >= params.null_value)


def _corners(params: SensitivitySuite) -> list[float]:
    """How many standard errors off each corner is. Without axes there is one: nothing is off."""
    signed = [(-reach, reach) for reach in params.axes if reach > 0]
    return sorted({math.fsum(corner) for corner in itertools.product(*signed)})


def conclude(plan: Plan, drawn: Drawn) -> Findings:
    params = plan.of(SensitivitySuite)
    span, rate = _claimed(plan, params), _rate(plan)
    series = [drawn[f"root{number}"] for number in range(SEED_ROOTS)]
    noise = np.concatenate(series)
    held = _held(params, span, noise)
    decision = _decision(params, span, noise, rate, plan.alpha)
    fragile = decision.outcome == "unresolved" and _flips_shown(held, len(noise), rate, plan.alpha)
    worst = 1 - float(held.min()) / len(noise)
    normal = params.base.estimate + params.prior_widening_factor * _standard_error(params) * noise[:, 0]
    low, high = (float(end) for end in np.quantile(normal, [plan.alpha / 2, 1 - plan.alpha / 2]))
    roots = [float(_held(params, span, one).min()) / len(one) for one in series]
    turned = {"cells": fragile, "roots": decision.outcome == "support" and min(roots) < rate}
    flips = tuple(name for name, flipped in turned.items() if flipped)
    return Findings(
        model=f"an estimate with noise of its own standard error times {params.prior_widening_factor:g}, in "
        f"{held.size} cells: does the claim survive it?",
        decision=decision,
        failure_mode=failure(decision, "sign_flip", "violated_assumption" if fragile else "nonidentifiable"),
        result=Result(
            worst, worst < 1 - rate, fragile, low, high, held.size, int((held >= rate * len(noise)).sum())
        ),
        diagnosis=_diagnosis(plan, params, span, drawn, flips),
        replicates=len(series[0]),
    )


def _rate(plan: Plan) -> float:
    """In which share of the perturbations the claim must hold, in each cell."""
    return plan.criterion.at_least if isinstance(plan.criterion, AtLeast) else 1 - MOST_FLIPS


def _held(params: SensitivitySuite, span: Span, noise: Floats) -> Floats:
    """In how many perturbations the claim holds: a row a corner, a column a model of the noise."""
    off = params.prior_widening_factor * noise + np.asarray(_corners(params))[:, None, None]
    held = span.holds(params.base.estimate + _standard_error(params) * off)
    return np.asarray(held.sum(axis=1), dtype=np.float64)


def _decision(params: SensitivitySuite, span: Span, noise: Floats, rate: float, alpha: float) -> Decision:
    """Support needs every cell, and so does refutation; hence no correction for there being many.

    A claim is refuted when perturbed estimates stay past it, all on one side. Those that scatter around a
    region that is too narrow for their noise say nothing against it.
    """
    past = [Span(low=span.high, strict=not span.strict), Span(high=span.low, strict=not span.strict)]
    sides = [one for one in past if math.isfinite(one.low) or math.isfinite(one.high)]
    refute = min(_level(params, one, noise, max(rate, 1 - rate)) for one in sides)
    return decided(_level(params, span, noise, rate), min(1.0, len(sides) * refute), alpha)


def _level(params: SensitivitySuite, span: Span, noise: Floats, rate: float) -> float:
    """The level at which the estimate is shown to stay in a region often enough, in every cell.

    INVARIANT: more perturbations make the rate of flips better known, not the estimate; so the level is never
    below that of the result itself, by its own noise and in the worst corner.
    """
    held = _held(params, span, noise)
    drawn = float(np.where(held < 1, 1.0, bdtrc(held - 1, len(noise), rate)).max())
    error = _standard_error(params)
    centres = params.base.estimate + error * np.asarray(_corners(params))
    own = float((ndtr((span.low - centres) / error) + ndtr((centres - span.high) / error)).max())
    return min(1.0, max(drawn, own))


def _flips_shown(held: Floats, count: int, rate: float, alpha: float) -> bool:
    """Is there a cell in which the claim is shown to hold too rarely, however many cells were looked at?"""
    return bool((bdtr(held, count, rate) <= alpha / held.size).any())


def _diagnosis(
    plan: Plan, params: SensitivitySuite, span: Span, drawn: Drawn, flips: tuple[str, ...]
) -> Diagnosis:
    noise = np.concatenate([drawn[f"root{number}"] for number in range(SEED_ROOTS)])
    error = _standard_error(params)
    spread = params.prior_widening_factor * error
    centres = params.base.estimate + error * np.asarray(_corners(params))
    exact = ndtr((span.high - centres) / spread) - ndtr((span.low - centres) / spread)
    seen = _held(params, span, noise)[:, 0] / len(noise)
    chance = np.sqrt(np.maximum(exact * (1 - exact), 1 / len(noise)) / len(noise))
    size = effective_samples(noise[:, 0])
    return Diagnosis(
        toy_error=max(
            float((np.abs(seen - exact) / (4.5 * chance)).max()), _control(plan, params, span, noise)
        ),
        variance=float(noise[:, 0].var(ddof=1)) * spread**2,
        unit_agrees=params.unit is None or params.unit == plan.unit,
        effective_samples=size,
        complete=params.base.ci_low != 0 or params.base.ci_high != 0,
        flips=flips,
        told={
            "monte_carlo_error": standard_error(noise[:, 0]) * spread,
            "effective_samples": size,
            "exact_flip_rate": float(1 - exact.min()),
            "sobol_totals": totals(drawn["sobol"]),
            "flip_factor": _flip_factor(span, centres, error, _rate(plan)),
            "flips": list(flips),
        },
    )


def _control(plan: Plan, params: SensitivitySuite, span: Span, noise: Floats) -> float:
    """A result that sits on the edge of the region holds in half of all worlds at most: it must not pass."""
    edge = span.low if math.isfinite(span.low) else span.high
    base = replace(params.base, estimate=edge, ci_low=edge - 1.0, ci_high=edge + 1.0)
    decision = _decision(replace(params, base=base), span, noise, max(0.6, _rate(plan)), plan.alpha)
    return 2.0 if decision.outcome == "support" else 0.0


def _flip_factor(span: Span, centres: Floats, error: float, rate: float) -> float | None:
    """The smallest widening at which a one-sided claim would flip too often in the worst corner."""
    inside = float(span.inside(centres).min())
    if (math.isfinite(span.low) and math.isfinite(span.high)) or inside <= 0 or rate <= 0.5:
        return None
    return inside / (error * float(ndtri(rate)))


TEMPLATE = Template(
    name="sensitivity_suite", result=Result, conclude=conclude, main=main, draw=draw, controls=controls
)
