"""Every check really measures: a fragile experiment fails the one that it should, a good one fails none."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from beliefd.experiments.checks import checks
from beliefd.experiments.diagnostics import effective_samples, excess
from beliefd.experiments.engine import planned
from beliefd.experiments.orders import draw_orders, order_arm, order_chance
from beliefd.experiments.panel.cells import concluded
from beliefd.experiments.panel.claims import OF_MEANS, plan_of
from beliefd.experiments.plan import Decision, Diagnosis, Findings, Floats
from beliefd.kernel.experiments.plan import (
    AtLeast,
    CheckName,
    Criterion,
    Near,
    Ordered,
    RunReport,
    TemplateName,
    Within,
)
from tests.experiments.support import ABOVE_ZERO, GOOD, STRONG, frozen, normal, ran, simulation


def failed(report: RunReport) -> list[CheckName]:
    return [check.name for check in report.checks if not check.passed]


def ordered(values: Floats, seed: int = 7) -> float | None:
    arm = order_arm(values)
    drawn = draw_orders(values, seed, arm, 0, arm.replicates) if arm.replicates else np.empty((0, 1))
    return order_chance(values, drawn)


TREND = [place / 10 + noise for place, noise in enumerate(normal(0, 0.1, 60))]
ONE_DECIDES = [2.5, 1.7, 3.5, 1.9, 2.3, 3.4, 3.4, 2.6, 1.0]
BELIEVED = {"observations": [2.0], "prior_mean": 2.0, "region": ABOVE_ZERO}
SURE = {"observations": normal(1.2, 1.0, 30), "region": ABOVE_ZERO}
WIDE = {
    "model": {"language": "expression", "expression": "v * t"},
    "inputs": [
        {"name": "v", "distribution": {"is": "uniform", "low": 9.0, "high": 11.0}, "unit": "m/s"},
        {"name": "t", "distribution": {"is": "uniform", "low": 1.0, "high": 2.0}, "unit": "s"},
    ],
    "region": {"region": "ordering", "side": "above", "than": 5.0},
}
WIDEST = Within(low=-1e9, high=1e9)
VACUOUS: list[tuple[TemplateName, dict[str, Any], Criterion | None]] = [
    ("numeric_consistency", {**GOOD["numeric_consistency"], "tolerance": 1e9}, None),
    ("threshold_check", {**GOOD["threshold_check"], "threshold": -1e6}, None),
    ("threshold_check", {**GOOD["threshold_check"], "threshold": -5.0, "bounds": [-5, 9]}, None),
    ("effect_direction", {"observations": STRONG, "expected": "zero", "negligible": 1e9}, None),
    ("bootstrap_ci", {"data": STRONG, "null_value": 1e9}, None),
    ("bootstrap_ci", {"data": STRONG}, WIDEST),
    ("bayesian_update", {"observations": STRONG}, WIDEST),
    ("sensitivity_suite", {"observed_values": STRONG}, WIDEST),
    ("model_simulation", {**simulation(), "region": None}, WIDEST),
]
FRAGILE: list[tuple[TemplateName, dict[str, Any], str, CheckName]] = [
    ("bootstrap_ci", {"data": TREND}, "1", "independence"),
    ("threshold_check", {"values": TREND, "threshold": 0.0, "direction": "above"}, "1", "independence"),
    ("bootstrap_ci", {"data": [0.0] * 20}, "1", "completeness"),
    ("bootstrap_ci", {"data": normal(2, 1, 30), "unit": "kg"}, "s", "dimensions"),
    ("model_simulation", WIDE, "s", "dimensions"),
    ("bayesian_update", {**BELIEVED, "n_samples": 100}, "1", "effective_sample_size"),
    ("sensitivity_suite", {**GOOD["sensitivity_suite"], "n_perturbations": 20}, "1", "effective_sample_size"),
    ("sensitivity_suite", {"observed_values": normal(0.3, 1.0, 30)}, "1", "sensitivity"),
    # Believed before it was measured, by a narrow prior, or by noise that is not what was declared.
    ("bayesian_update", {**SURE, "prior_mean": 3.0, "prior_std": 0.1}, "1", "sensitivity"),
    ("bayesian_update", {**SURE, "likelihood_std": 0.1}, "1", "sensitivity"),
    ("bayesian_update", {**SURE, "likelihood_std": 300.0}, "1", "sensitivity"),
    # One value alone decides.
    ("effect_direction", {"observations": ONE_DECIDES, "expected": "positive"}, "1", "sensitivity"),
    # Nothing varies, so nothing is known about noise: half of all samples of something rare are like that.
    ("threshold_check", {"values": [0.0] * 40, "threshold": 0.01, "direction": "below"}, "1", "extremes"),
    ("effect_direction", {"observations": [0.0] * 9, "expected": "zero"}, "1", "extremes"),
    ("bootstrap_ci", {"data": [3.0] * 20}, "1", "extremes"),
    ("bayesian_update", {**SURE, "observations": [1.0] * 20}, "1", "extremes"),
    ("sensitivity_suite", {"observed_values": [3.0] * 20}, "1", "extremes"),
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


@pytest.mark.parametrize(("name", "params", "criterion"), VACUOUS)
def test_a_claim_that_no_such_data_could_have_failed_is_not_shown(
    name: TemplateName, params: dict[str, Any], criterion: Criterion | None
) -> None:
    report = ran(frozen(name, params, criterion))
    assert report.outcome == "support"
    assert failed(report) == ["falsifiable"]


def test_a_wide_claim_that_the_data_come_near_to_is_no_vacuous_one() -> None:
    """What is wide on one side only is a claim about the other side."""
    report = ran(frozen("bootstrap_ci", GOOD["bootstrap_ci"], Within(low=0.0, high=1e300)))
    assert (report.outcome, failed(report)) == ("support", [])
    far = ran(frozen("bootstrap_ci", GOOD["bootstrap_ci"], Near(value=1e12, tolerance=1.0)))
    assert (far.outcome, failed(far)) == ("refute", [])


def test_values_that_do_not_vary_have_a_level_within_bounds_but_are_not_known_to_be_independent() -> None:
    """None of 60 is a one with a chance of 0.9 to the power of 60, or of as many as they are worth."""
    rare = {"values": [0.0] * 60, "threshold": 0.1, "direction": "below", "bounds": [0, 1]}
    report = ran(frozen("threshold_check", rare))
    assert (report.outcome, failed(report)) == ("support", ["independence"])
    alike = 1 / math.sqrt(60)
    assert report.error_level == pytest.approx(0.9 ** (60 * (1 - alike) / (1 + alike)), rel=1e-6)
    assert ran(frozen("threshold_check", {**rare, "threshold": 0.01})).outcome == "unresolved"


@pytest.mark.parametrize("name", OF_MEANS)
@pytest.mark.parametrize(("value", "edge"), [(0.0, 0.3), (1.0, 0.7)])
def test_no_template_takes_values_that_do_not_vary_for_independent_ones(
    name: TemplateName, value: float, edge: float
) -> None:
    """Ones and zeros that keep the last value in nine of ten steps are all the same in a third of samples."""
    plan = plan_of(name, np.full(40, value), edge, value < edge, 0.05, 7, (0.0, 1.0))
    found = concluded(plan)
    assert found.decision.outcome == "support"
    assert "independence" in [one.name for one in checks(plan, found) if not one.passed]


def of_data(values: list[float], side: str, expression: str = "a") -> dict[str, Any]:
    return {
        "model": {"language": "expression", "expression": expression},
        "inputs": [{"name": "a", "distribution": {"is": "data", "values": values}}],
        "region": {"region": "ordering", "side": side, "than": 0.5},
    }


@pytest.mark.parametrize(
    ("values", "expressions", "expected"),
    [([0.0] * 60, ("a", "1 - a"), ["independence"]), (normal(0.0, 1.0, 60), ("a > 9", "a <= 9"), [])],
)
def test_a_model_is_judged_alike_whether_what_always_happens_is_a_zero_or_a_one(
    values: list[float], expressions: tuple[str, str], expected: list[CheckName]
) -> None:
    zeros, ones = (
        ran(frozen("model_simulation", of_data(values, side, expression), AtLeast(at_least=0.9)))
        for side, expression in zip(("below", "above"), expressions, strict=True)
    )
    assert (zeros.outcome, zeros.error_level) == (ones.outcome, ones.error_level)
    assert zeros.outcome == "support"
    assert failed(zeros) == failed(ones) == expected


def test_few_failures_cannot_show_that_failures_do_not_come_in_bursts() -> None:
    """One in ten, in bursts, looks like one or two of 80 that lie apart in 6 % of samples."""
    two, seven = (
        [float(place in failures) for place in range(count)]
        for count, failures in ((80, (20, 61)), (300, (11, 51, 90, 137, 180, 222, 271)))
    )
    claim = AtLeast(at_least=0.9)
    few, many = (
        ran(frozen("model_simulation", of_data(one, "below"), claim, alpha=0.025)) for one in (two, seven)
    )
    assert few.outcome == "unresolved"
    assert (many.outcome, failed(many)) == ("support", [])
    within = {"threshold": 0.1, "direction": "below", "bounds": [0, 1]}
    assert ran(frozen("threshold_check", {"values": two, **within}, alpha=0.025)).outcome == "unresolved"


def test_what_is_seen_once_in_25_times_may_not_have_been_seen_at_all() -> None:
    spike = [*normal(1.0, 0.1, 24), 1000.0]
    report = ran(frozen("threshold_check", {"values": spike, "threshold": 200.0, "direction": "below"}))
    assert report.outcome == "unresolved"


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
    found = ordered(array)
    assert found is None or 0 < found <= 1 or (found == 0 and np.ptp(array) == 0)
