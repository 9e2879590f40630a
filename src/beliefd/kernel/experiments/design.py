"""From a claim and hints to the plan of an experiment: what hints say becomes counts and widths, never words.

INVARIANT: hints can only make a test harder (perturbations on top of the same test, more axes, wider priors),
so whoever speculates cannot talk a claim through.
"""

import math
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec.structs import replace

from beliefd.kernel.errors import Code, invalid
from beliefd.kernel.experiments.params import MAX_AXES, checked_spec
from beliefd.kernel.experiments.plan import Criterion, ExperimentSpec, Near, Ordered
from beliefd.kernel.experiments.referring import reference
from beliefd.kernel.experiments.testable import TestableClaim
from beliefd.kernel.scan.guards import refuse_speculation
from beliefd.kernel.speculation.hints import ExperimentHints
from beliefd.kernel.values import Value

Design = Literal["numeric_consistency", "threshold_check", "sensitivity_suite", "bootstrap_ci"]
"""The templates that can test where the mean of a quantity lies."""
LEAST_WIDENING: Final = 2.0
MOST_WIDENING: Final = 10.0
LEAST_PERTURBATIONS: Final = 100
MOST_PERTURBATIONS: Final = 1_000
PERTURBATIONS_PER_IDEA: Final = 25
Z: Final = 1.959963984540054
"""So many standard errors on either side make an interval of 95 %, where they are known."""
LARGEST: Final = 1e150


class Choice(Value, frozen=True):
    """Everything about a design that can be chosen: one of a few templates, and how hard to try."""

    template: Design = "numeric_consistency"
    axes: Annotated[int, msgspec.Meta(ge=0, le=MAX_AXES)] = 0
    prior_widening_factor: Annotated[float, msgspec.Meta(ge=LEAST_WIDENING, le=MOST_WIDENING)] = (
        LEAST_WIDENING
    )
    n_perturbations: Annotated[int, msgspec.Meta(ge=LEAST_PERTURBATIONS, le=MOST_PERTURBATIONS)] = (
        LEAST_PERTURBATIONS
    )


def choose(claim: TestableClaim, hints: ExperimentHints | None) -> Choice:
    """The claim is compared with what was seen. With hints, it has to stand up to perturbation on top."""
    _check(claim, hints)
    if hints is None or hints.empty:
        return Choice(template=_usual(claim))
    ideas = (hints.candidate_mechanisms, hints.discriminative_predictions, hints.falsification_criteria)
    perturbations = LEAST_PERTURBATIONS + PERTURBATIONS_PER_IDEA * sum(len(each) for each in ideas)
    return Choice(
        template="sensitivity_suite",
        axes=min(len(hints.sensitivity_axes), MAX_AXES),
        prior_widening_factor=_widening(claim, hints),
        n_perturbations=min(perturbations, MOST_PERTURBATIONS),
    )


def _usual(claim: TestableClaim) -> Design:
    """What compares a claim with what was seen, by the kind of region that it claims."""
    if isinstance(claim.region, Ordered):
        return "threshold_check"
    return "numeric_consistency" if claim.region is None else "bootstrap_ci"


def design(
    claim: TestableClaim, hints: ExperimentHints | None = None, choice: Choice | None = None
) -> ExperimentSpec:
    """The plan of an experiment that can run. Of the hints it holds the digest, and what they led to."""
    _check(claim, hints)
    chosen = choice or choose(claim, hints)
    chosen = _fitting(claim, chosen)
    make = _PARAMS[chosen.template]
    params, criterion = make(claim, chosen, list(claim.observed_values))
    spec = ExperimentSpec(
        claim_id=claim.claim_id,
        template=chosen.template,
        params=params,
        criterion=criterion,
        alpha=claim.alpha,
        budget=claim.budget,
        unit=claim.unit,
        hints_digest="" if hints is None or hints.empty else hints.digest(),
        eliminates_if_supported=claim.eliminates_if_supported,
        eliminates_if_refuted=claim.eliminates_if_refuted,
    )
    refuse_speculation(spec.params, Code.SPECULATIVE_RESIDUE)
    checked_spec(spec)
    if not claim.observed:
        return spec
    return replace(spec, params=make(claim, chosen, reference(claim.observed))[0])


def _fitting(claim: TestableClaim, chosen: Choice) -> Choice:
    """Templates that say what they claim in their parameters can claim one kind of region only."""
    by_parameters = chosen.template in ("numeric_consistency", "threshold_check")
    return replace(chosen, template=_usual(claim)) if by_parameters else chosen


def _region(claim: TestableClaim) -> Criterion:
    return claim.region or Near(value=claim.claimed_value, tolerance=min(claim.tolerance, LARGEST))


def _check(claim: TestableClaim, hints: ExperimentHints | None) -> None:
    if hints is not None and hints.claim_id != claim.claim_id:
        raise invalid("the hints are about another claim", "$.hints.claim_id")
    numbers = {"claimed_value": (claim.claimed_value,), "observed_values": claim.observed_values}
    for name, values in numbers.items():
        if any(not abs(value) <= LARGEST for value in values):
            raise invalid(f"numbers past {LARGEST:g} cannot be averaged", f"$.claim.{name}")


Made = tuple[dict[str, Any], Criterion | None]


def _bounded(claim: TestableClaim, params: dict[str, Any]) -> dict[str, Any]:
    return params if claim.bounds is None else {**params, "bounds": list(claim.bounds)}


def _numeric_consistency(claim: TestableClaim, _: Choice, data: Any) -> Made:
    params = {
        "claimed_value": claim.claimed_value,
        "observed_values": data,
        "tolerance": min(claim.tolerance, LARGEST),
    }
    return _bounded(claim, params), None


def _sensitivity_suite(claim: TestableClaim, choice: Choice, data: Any) -> Made:
    params = {
        "observed_values": data,
        "prior_widening_factor": choice.prior_widening_factor,
        "n_perturbations": min(choice.n_perturbations, claim.budget.replicates),
        # Ways to be off that have nothing to do with each other: together they are off by their root.
        "axes": [1 / math.sqrt(max(choice.axes, 1))] * choice.axes,
    }
    return _bounded(claim, params), _region(claim)


def _bootstrap_ci(claim: TestableClaim, _: Choice, data: Any) -> Made:
    params = {
        "data": data,
        "n_bootstrap": min(2_000, claim.budget.replicates),
        "null_value": claim.claimed_value,
    }
    return _bounded(claim, params), _region(claim)


def _threshold_check(claim: TestableClaim, _: Choice, data: Any) -> Made:
    assert isinstance(claim.region, Ordered)  # noqa: S101 - asked by who chose this
    params = {"values": data, "threshold": claim.region.than, "direction": claim.region.side}
    return _bounded(claim, params), None


_PARAMS: Final = {
    "threshold_check": _threshold_check,
    "numeric_consistency": _numeric_consistency,
    "sensitivity_suite": _sensitivity_suite,
    "bootstrap_ci": _bootstrap_ci,
}


def _observed(claim: TestableClaim) -> tuple[float, float]:
    """Mean of what was observed, and half the width of its interval."""
    values = claim.observed_values
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    spread = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0
    # Where nothing varies, nothing is known about noise: it is taken to be as large as the claim tolerates.
    error = (spread or claim.tolerance) / math.sqrt(len(values))
    return mean, min(max(_student(len(values) - 1) * error, 8 * math.ulp(mean)), LARGEST)


def _student(freedom: int) -> float:
    """How many standard errors make the interval when their size is only estimated (Cornish and Fisher)."""
    nu, z = max(freedom, 1), Z
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / nu + second / nu**2 + third / nu**3


def _widening(claim: TestableClaim, hints: ExperimentHints) -> float:
    """As wide as the widest prior that was suggested, in widths of what was observed."""
    _, half = _observed(claim)
    widest = max((one.range[1] - one.range[0] for one in hints.prior_suggestions if one.range), default=0.0)
    return min(max(widest / (2 * half), LEAST_WIDENING), MOST_WIDENING)
