"""Plans of experiments whose answer is known: one claim per template, about the mean or a share of values."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from beliefd.experiments.means import sample
from beliefd.experiments.plan import Floats, Plan
from beliefd.kernel.experiments.params import checked_params
from beliefd.kernel.experiments.plan import AtLeast, Criterion, Ordered, TemplateName, Within

DRAWS: Final = 1_000
REPLICATES: Final = 2_000
HALF: Final = AtLeast(at_least=0.5)
Given = tuple[dict[str, Any], Criterion | None]
Bounds = tuple[float, float] | None


def _wide(values: Floats, edge: float) -> float:
    """A width that no sample of this spread reaches across."""
    return 50 * (sample(values).std or 1.0) + abs(float(values.mean()) - edge)


def _threshold(values: Floats, edge: float, below: bool) -> Given:
    return {"values": values.tolist(), "threshold": edge, "direction": "below" if below else "above"}, None


def _numeric(values: Floats, edge: float, below: bool) -> Given:
    reach = _wide(values, edge)
    centre = edge - reach if below else edge + reach
    return {"observed_values": values.tolist(), "claimed_value": centre, "tolerance": reach}, None


def _effect(values: Floats, edge: float, below: bool) -> Given:
    return {"observations": (values - edge).tolist(), "expected": "negative" if below else "positive"}, None


def _bootstrap(values: Floats, edge: float, below: bool) -> Given:
    return {"data": values.tolist(), "n_bootstrap": DRAWS}, _side(edge, below)


def _bayes(values: Floats, edge: float, below: bool) -> Given:
    """With a prior around the edge, and the noise that the data have."""
    noise = sample(values).std or 1.0
    given = {"prior_mean": edge, "prior_std": 10 * noise, "likelihood_std": noise, "n_samples": DRAWS}
    return {"observations": values.tolist(), **given}, _side(edge, below)


def _suite(values: Floats, edge: float, below: bool) -> Given:
    reach = _wide(values, edge)
    region = Within(low=edge - 2 * reach, high=edge) if below else Within(low=edge, high=edge + 2 * reach)
    return {"observed_values": values.tolist()}, region


def _side(edge: float, below: bool) -> Ordered:
    return Ordered(side="below" if below else "above", than=edge)


def _model(values: Floats, edge: float, below: bool) -> Given:
    """Are at least half of all values on one side of the edge?"""
    given = {
        "model": {"language": "expression", "expression": "a"},
        "inputs": [{"name": "a", "distribution": {"is": "data", "values": values.tolist()}}],
        "region": {"region": "ordering", "side": "below" if below else "above", "than": edge},
    }
    return given, HALF


OF_MEANS: Final[dict[TemplateName, Callable[[Floats, float, bool], Given]]] = {
    "threshold_check": _threshold,
    "numeric_consistency": _numeric,
    "effect_direction": _effect,
    "bootstrap_ci": _bootstrap,
    "bayesian_update": _bayes,
    "sensitivity_suite": _suite,
}
"""INVARIANT: none of them supports anything that the mean test alone does not."""
CLAIMS: Final = {**OF_MEANS, "model_simulation": _model}
"""Every template that can support a claim by chance."""


def plan_of(
    name: TemplateName, values: Floats, edge: float, below: bool, alpha: float, seed: int, bounds: Bounds
) -> Plan:
    """The claim that the mean, or half of all values, is on one side of the edge."""
    params, criterion = CLAIMS[name](values, edge, below)
    if bounds is not None and name in OF_MEANS:
        shift = edge if name == "effect_direction" else 0.0
        params["bounds"] = [bounds[0] - shift, bounds[1] - shift]
    return _plan(name, params, criterion, alpha, seed)


def either_side(values: Floats, edge: float, alpha: float, seed: int, bounds: Bounds) -> Plan:
    """The claim that the mean is another value than the edge, above or below."""
    params = {"data": values.tolist(), "n_bootstrap": DRAWS, "null_value": edge, "bounds": bounds}
    return _plan("bootstrap_ci", params, None, alpha, seed)


def in_a_share(values: Floats, edge: float, below: bool, share: float, alpha: float, seed: int) -> Plan:
    """The claim that at least such a share of values is on one side of the edge."""
    params, _ = _model(values, edge, below)
    return _plan("model_simulation", params, AtLeast(at_least=share), alpha, seed)


def _plan(
    name: TemplateName, params: dict[str, Any], criterion: Criterion | None, alpha: float, seed: int
) -> Plan:
    return Plan(
        template=name,
        params=checked_params(name, params),
        criterion=criterion,
        alpha=alpha,
        seed=seed,
        unit="1",
        replicates=REPLICATES,
    )


def at_most_half(values: Floats) -> tuple[float, float]:
    """Edges of which at most half of all values are below, and at most half above."""
    ordered = np.sort(values.ravel())
    middle = len(ordered) // 2
    return float(ordered[middle - 1]), float(ordered[middle])
