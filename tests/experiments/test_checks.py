"""Every check really measures: a fragile experiment fails the one that it should, a good one fails none."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from beliefd.experiments.checks import checks
from beliefd.experiments.diagnostics import dependence, effective_samples, excess
from beliefd.experiments.engine import planned
from beliefd.experiments.plan import Decision, Diagnosis, Findings
from beliefd.kernel.experiments.plan import CheckName, Ordered, RunReport, TemplateName
from tests.experiments.support import ABOVE_ZERO, GOOD, frozen, normal, ran, simulation


def failed(report: RunReport) -> list[CheckName]:
    return [check.name for check in report.checks if not check.passed]


TREND = [place / 10 + noise for place, noise in enumerate(normal(0, 0.1, 60))]
SPIKE = [*normal(1.0, 0.1, 24), 1000.0]
ONE_DECIDES = [2.0, 0.5, -0.5, 1.5, 0.3, 1.0, 0.2]
BELIEVED = {"observations": [2.0], "prior_mean": 2.0, "region": ABOVE_ZERO}
MISJUDGED = {"observations": [9.0, -8.0, 1.5], "likelihood_std": 0.1}
WIDE = {
    "model": {"language": "expression", "expression": "v * t"},
    "inputs": [
        {"name": "v", "distribution": {"is": "uniform", "low": 9.0, "high": 11.0}, "unit": "m/s"},
        {"name": "t", "distribution": {"is": "uniform", "low": 1.0, "high": 2.0}, "unit": "s"},
    ],
    "region": {"region": "ordering", "side": "above", "than": 5.0},
}
FRAGILE: list[tuple[TemplateName, dict[str, Any], str, CheckName]] = [
    ("bootstrap_ci", {"data": TREND}, "1", "independence"),
    ("threshold_check", {"values": TREND, "threshold": 0.0, "direction": "above"}, "1", "independence"),
    ("bootstrap_ci", {"data": [0.0] * 20}, "1", "completeness"),
    ("bootstrap_ci", {"data": normal(2, 1, 30), "unit": "kg"}, "s", "dimensions"),
    ("model_simulation", WIDE, "s", "dimensions"),
    ("bayesian_update", {**BELIEVED, "n_samples": 100}, "1", "effective_sample_size"),
    ("sensitivity_suite", {**GOOD["sensitivity_suite"], "n_perturbations": 20}, "1", "effective_sample_size"),
    ("sensitivity_suite", {"base": {"estimate": 1.0, "ci_low": -0.5, "ci_high": 2.5}}, "1", "sensitivity"),
    # Believed only because of a narrow prior, or of noise that is declared smaller than it is.
    ("bayesian_update", {**BELIEVED, "observations": [0.1], "prior_std": 0.5}, "1", "sensitivity"),
    ("bayesian_update", {**MISJUDGED, "region": ABOVE_ZERO}, "1", "sensitivity"),
    # One value alone decides; or what is seen once in 25 times may not have been seen at all.
    ("effect_direction", {"observations": ONE_DECIDES, "expected": "positive"}, "1", "sensitivity"),
    ("threshold_check", {"values": SPIKE, "threshold": 200.0, "direction": "below"}, "1", "sensitivity"),
    ("model_simulation", simulation(mean=2.0), "1", "sensitivity"),
    ("threshold_check", {"values": [3.0], "threshold": 1.0, "direction": "above"}, "1", "completeness"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "unit", "check"), FRAGILE)
def test_a_fragile_experiment_is_caught_by_its_check(
    name: TemplateName, params: dict[str, Any], unit: str, check: CheckName
) -> None:
    report = ran(frozen(name, params, unit=unit))
    assert report.status == "completed"
    assert check in failed(report)
    assert report.fragile


def test_units_go_through_the_arithmetic_of_a_model() -> None:
    assert "dimensions" not in failed(ran(frozen("model_simulation", WIDE, unit="m")))


def test_a_model_with_outputs_in_all_but_a_few_draws_is_judged_by_them_and_one_without_is_not() -> None:
    rarely = simulation("sqrt(a)", than=-1.0, mean=3.5)
    often = simulation("sqrt(a)", than=-1.0, mean=1.0)
    assert "completeness" not in failed(ran(frozen("model_simulation", rarely)))
    assert "completeness" in failed(ran(frozen("model_simulation", often)))


def test_a_world_in_which_the_rule_errs_fails_the_toy_model() -> None:
    plan = planned(frozen("bootstrap_ci", GOOD["bootstrap_ci"], Ordered(side="above", than=0.0)))
    diagnosis = Diagnosis(toy_error=excess(40, 200, 0.05), variance=1.0)
    decision = Decision("support", 0.01)
    findings = Findings(model="", decision=decision, result=diagnosis, diagnosis=diagnosis, replicates=2_000)
    assert [one.name for one in checks(plan, findings) if not one.passed] == ["toy_model"]
    negative = replace(findings, diagnosis=Diagnosis(variance=-1.0))
    assert [one.name for one in checks(plan, negative) if not one.passed] == ["extremes"]
    hungry = replace(findings, diagnosis=Diagnosis(), replicates=5_000)
    assert [one.name for one in checks(plan, hungry) if not one.passed] == ["budget"]


def test_dependent_draws_are_worth_fewer_independent_ones() -> None:
    noise = np.random.default_rng(1).normal(size=20_000)
    chain = np.empty_like(noise)
    chain[0] = noise[0]
    for place in range(1, len(noise)):
        chain[place] = 0.9 * chain[place - 1] + noise[place]
    # A first-order chain with correlation r is worth n (1 - r) / (1 + r).
    assert effective_samples(chain) == pytest.approx(20_000 * 0.1 / 1.9, rel=0.2)
    assert effective_samples(noise) == pytest.approx(20_000, rel=0.1)
    assert effective_samples(np.zeros(50)) == 50


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_diagnostics_of_any_numbers_are_finite_and_bounded(values: list[float]) -> None:
    array = np.asarray(values)
    assert 0 < effective_samples(array) <= len(values)
    found = dependence(array)
    assert found is None or np.isfinite(found)


def test_independent_observations_are_rarely_called_dependent() -> None:
    rows = np.random.default_rng(2).normal(size=(2_000, 30))
    called = sum((dependence(row) or 0) > 3.29 for row in rows)
    assert called <= 10
