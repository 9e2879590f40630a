"""bayesian_update: a normal mean with known noise and a normal prior; how much belief lies in the region?

Prior and noise are declared by whoever plans the experiment. So the observations alone, without either, have
to show the same; and a prior or a noise that they contradict fails a check.
"""

import math
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from scipy.special import chdtr, chdtrc, ndtr, ndtri

from beliefd.experiments.diagnostics import effective_samples, standard_error
from beliefd.experiments.means import mean_of, sample
from beliefd.experiments.orders import draw_orders, order_arm, order_chance
from beliefd.experiments.plan import Arm, Decision, Diagnosis, Drawn, Findings, Floats, Plan, Template
from beliefd.experiments.regions import Span, claimed, decided, failure_of, shown, slack
from beliefd.experiments.rng import uniforms
from beliefd.experiments.templates.averages import others as means_without_a_prior
from beliefd.experiments.templates.averages import spread_of
from beliefd.kernel.experiments.params import BayesianUpdate, claimed_region
from beliefd.kernel.experiments.plan import AtLeast

WIDER_PRIORS: Final = (2.0, 10.0)
CALIBRATIONS: Final = 1_000
MOST_MISFIT: Final = 0.01
"""Below this chance the data are not what the declared noise, or the prior, would have led to."""
Shown = tuple[float, float]


class Result(Struct, frozen=True):
    posterior_mean: float
    posterior_std: float
    ci_low: float
    ci_high: float
    region_mass: float
    sampled_mass: float


class Posterior(Struct, frozen=True):
    mean: float
    std: float

    def mass(self, span: Span) -> float:
        return float(ndtr((span.high - self.mean) / self.std) - ndtr((span.low - self.mean) / self.std))

    def outside(self, span: Span) -> float:
        """Not one minus the above: that would round small chances off."""
        return float(ndtr((span.low - self.mean) / self.std) + ndtr((self.mean - span.high) / self.std))


def posterior(params: BayesianUpdate) -> Posterior:
    """Precisions add up, and means are weighted by them."""
    count = len(params.observations)
    prior, data = 1 / params.prior_std**2, count / params.likelihood_std**2
    mean = (prior * params.prior_mean + data * math.fsum(params.observations) / count) / (prior + data)
    return Posterior(mean, 1 / math.sqrt(prior + data))


def main(plan: Plan) -> Arm:
    return Arm("main", 0, plan.of(BayesianUpdate).n_samples, 60.0)


def controls(plan: Plan, _: int) -> tuple[Arm, ...]:
    values = np.asarray(plan.of(BayesianUpdate).observations)
    return Arm("toy", 1, CALIBRATIONS, 200.0), order_arm(values)


def draw(plan: Plan, arm: Arm, first: int, count: int) -> Floats:
    """Draws of the posterior; or ranks of truths in the posteriors that their own data lead to."""
    params = plan.of(BayesianUpdate)
    if arm.name == "main":
        found = posterior(params)
        return found.mean + found.std * ndtri(uniforms(plan.seed, arm.index, first, count, 1))
    if arm.name == "order":
        return draw_orders(np.asarray(params.observations), plan.seed, arm, first, count)
    normal = ndtri(uniforms(plan.seed, arm.index, first, count, 2))
    n = len(params.observations)
    truths = params.prior_mean + params.prior_std * normal[:, 0]
    seen = truths + params.likelihood_std / math.sqrt(n) * normal[:, 1]
    prior, data = 1 / params.prior_std**2, n / params.likelihood_std**2
    means = (prior * params.prior_mean + data * seen) / (prior + data)
    return np.asarray(ndtr((truths - means) * math.sqrt(prior + data)))[:, None]


def conclude(plan: Plan, drawn: Drawn) -> Findings:
    params = plan.of(BayesianUpdate)
    found, span = posterior(params), claimed(claimed_region(params, plan.criterion))
    without = shown(span, *mean_of(np.asarray(params.observations), params.bounds).levels)
    decision = _decision(plan, params, span, without)
    draws, n = drawn["main"][:, 0], len(params.observations)
    sampled = float(span.holds(draws).mean())
    low, high = (float(end) for end in np.quantile(draws, [plan.alpha / 2, 1 - plan.alpha / 2]))
    failure = "violated_assumption" if _conflicts(params) else failure_of(span, decision)
    return Findings(
        model=f"{n} observations with normal noise of the declared spread and a normal prior: "
        "how much of the posterior lies in the region, and do the observations alone agree?",
        decision=decision,
        failure_mode=None if decision.outcome == "support" else failure,
        result=Result(found.mean, found.std, low, high, found.mass(span), sampled),
        diagnosis=_diagnosis(plan, span, drawn, decision, without),
        replicates=len(draws),
    )


def _decision(plan: Plan, params: BayesianUpdate, span: Span, without: Shown) -> Decision:
    """By the exact mass. A criterion may ask for more of it than alpha does, never for less.

    INVARIANT: what the observations do not show without the prior is not shown with it.
    """
    found = posterior(params)
    asked = 1 - plan.criterion.at_least if isinstance(plan.criterion, AtLeast) else plan.alpha
    support, refute = max(found.outside(span), without[0]), max(found.mass(span), without[1])
    return decided(support, refute, min(plan.alpha, asked))


def _conflicts(params: BayesianUpdate) -> list[str]:
    """What of the declarations the observations contradict."""
    chances = {"declared_noise": _misfit(params), "prior_against_data": _surprise(params)}
    return [name for name, chance in chances.items() if chance < MOST_MISFIT]


def _surprise(params: BayesianUpdate) -> float:
    """The chance of a mean as far from the prior's as the one observed, by the larger noise of the two."""
    found = sample(np.asarray(params.observations))
    noise = max(params.likelihood_std, found.std) if found.n > 1 else params.likelihood_std
    off = abs(found.mean - params.prior_mean) / math.hypot(params.prior_std, noise / math.sqrt(found.n))
    return float(2 * ndtr(-off))


def _misfit(params: BayesianUpdate) -> float:
    """The chance of a spread as far from the declared one as that of the observations; 1 for a single one."""
    n = len(params.observations)
    if n < 2:
        return 1.0
    scaled = float(np.var(np.asarray(params.observations), ddof=1)) * (n - 1) / params.likelihood_std**2
    return float(min(1.0, 2 * min(chdtr(n - 1, scaled), chdtrc(n - 1, scaled))))


def _diagnosis(plan: Plan, span: Span, drawn: Drawn, decision: Decision, without: Shown) -> Diagnosis:
    params = plan.of(BayesianUpdate)
    values, draws, found = np.asarray(params.observations), drawn["main"][:, 0], posterior(params)
    others = {
        f"prior_x{factor:g}": replace(params, prior_std=params.prior_std * factor) for factor in WIDER_PRIORS
    }
    if len(values) > 2 and (spread := float(values.std(ddof=1))) > 0:
        others["noise_of_the_data"] = replace(params, likelihood_std=spread)
    others["noise_x1.5"] = replace(params, likelihood_std=params.likelihood_std * 1.5)
    flips = [
        name
        for name, other in others.items()
        if _decision(plan, other, span, without).outcome != decision.outcome
    ]
    known = means_without_a_prior(values, params.bounds, span, plan.alpha)
    flips += [name for name, outcome in known if outcome != decision.outcome]
    conflicts = _conflicts(params)
    inside, mass = span.holds(draws), found.mass(span)
    exact_error = math.sqrt(max(mass * (1 - mass), 1 / len(draws)) / len(draws))
    sampling = abs(float(inside.mean()) - mass) / (4 * exact_error)
    size, unevenness = effective_samples(draws), _unevenness(drawn["toy"][:, 0])
    return Diagnosis(
        toy_error=max(sampling, unevenness),
        variance=spread_of(values, params.bounds),
        unit_agrees=params.unit is None or params.unit == plan.unit,
        order_chance=order_chance(values, drawn["order"]),
        effective_samples=size,
        complete=bool(np.any(draws != 0)),
        slack=slack(span, values, params.bounds),
        flips=(*conflicts, *(() if decision.outcome == "unresolved" else flips)),
        told={
            "monte_carlo_error": standard_error(draws),
            "effective_samples": size,
            "sampled_against_exact": sampling,
            "calibration": unevenness,
            "flips": [*conflicts, *flips],
            "flip_distance": abs(float(span.inside(np.asarray(found.mean)))) / found.std,
            "misfit_chance": _misfit(params),
            "surprise_chance": _surprise(params),
        },
    )


def _unevenness(ranks: Floats) -> float:
    """Kolmogorov's distance of ranks from evenness; chance exceeds 1 once in a thousand times."""
    ordered = np.sort(ranks)
    grid = np.arange(1, len(ranks) + 1) / len(ranks)
    gap = float(np.maximum(np.abs(grid - ordered), np.abs(grid - 1 / len(ranks) - ordered)).max())
    return gap * math.sqrt(len(ranks)) / 1.95


TEMPLATE = Template(
    name="bayesian_update",
    version=2,
    result=Result,
    conclude=conclude,
    main=main,
    draw=draw,
    controls=controls,
)
