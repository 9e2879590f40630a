"""Whoever plans an experiment cannot steer it: not by hints, not by a prior, not by drawing data again."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.experiments.panel.families import FAMILIES
from beliefd.experiments.plan import Floats
from beliefd.kernel.experiments.design import design
from beliefd.kernel.experiments.plan import AtLeast, Near, RunOutcome, RunReport
from beliefd.kernel.experiments.testable import TestableClaim
from beliefd.kernel.speculation.hints import ExperimentHints, PriorSuggestion
from tests.experiments.support import ABOVE_ZERO, frozen, normal, ran, simulation

ALPHA = 0.025


def family(name: str, rows: int, n: int, seed: int = 1) -> tuple[Floats, float]:
    (found,) = [one for one in FAMILIES if one.name == name]
    return found.draw(np.random.default_rng(seed), rows, n), found.mean


def solid(report: RunReport) -> RunOutcome:
    """The outcome, if no check failed."""
    return "unresolved" if report.fragile else report.outcome


def outcome_of(claim: TestableClaim, hints: ExperimentHints | None) -> RunOutcome:
    spec = design(claim, hints)
    return solid(ran(frozen(spec.template, spec.params, spec.criterion, alpha=ALPHA, seed=spec.seed)))


values = st.lists(st.floats(-3, 3), min_size=2, max_size=14).map(tuple)
some_hints = st.builds(
    lambda axes, ideas, width: ExperimentHints(
        claim_id="c1",
        sensitivity_axes=("an axis",) * axes,
        candidate_mechanisms=("an idea",) * ideas,
        prior_suggestions=(PriorSuggestion(domain="a", parallel="b", range=(0.0, width)),),
    ),
    st.integers(0, 4),
    st.integers(0, 4),
    st.floats(0, 50),
)


@settings(max_examples=40, deadline=None)
@given(values, st.sampled_from([0.0, 1.0, 8.0, 30.0]), st.sampled_from([0.5, 4.0, 9.0]), some_hints)
def test_what_is_solid_with_hints_is_solid_without(
    seen: tuple[float, ...], claimed: float, tolerance: float, hints: ExperimentHints
) -> None:
    claim = TestableClaim(claim_id="c1", claimed_value=claimed, observed_values=seen, tolerance=tolerance)
    if (outcome := outcome_of(claim, hints)) != "unresolved":
        assert outcome_of(claim, None) == outcome


def test_a_hint_does_not_hide_that_observations_depend_on_each_other() -> None:
    rows, mean = family("AR 0.8", 60, 40)
    hint = ExperimentHints(claim_id="c1", candidate_mechanisms=("an idea",))
    wrongly = 0
    for row in rows:
        far = 20 * float(row.std())
        claim = TestableClaim(
            claim_id="c1",
            claimed_value=mean + far,
            observed_values=tuple(row.tolist()),
            tolerance=far,
        )
        wrongly += outcome_of(claim, hint) == "support"
    assert wrongly <= 4


SURE: dict[str, Any] = {"prior_mean": 10.0, "prior_std": 1e-9, "likelihood_std": 300.0}


def test_a_prior_that_the_data_contradict_shows_nothing() -> None:
    report = ran(
        frozen("bayesian_update", {"observations": [1000, 1001, 1003], **SURE}, Near(value=10, tolerance=0.1))
    )
    assert (report.outcome, report.fragile) == ("unresolved", True)
    assert report.result["region_mass"] == pytest.approx(1.0)
    assert report.diagnostics["flips"][:2] == ["declared_noise", "prior_against_data"]


def test_a_tight_prior_does_not_support_what_is_false() -> None:
    rows, mean = family("normal", 200, 12)
    for row in rows:
        given = {"observations": row.tolist(), "prior_mean": 3.0, "prior_std": 0.01, "region": ABOVE_ZERO}
        assert solid(ran(frozen("bayesian_update", given, alpha=ALPHA))) != "support", mean


def test_a_prior_that_agrees_with_the_data_still_needs_them() -> None:
    given = {"prior_mean": 2.0, "prior_std": 0.1, "region": ABOVE_ZERO}
    clear = {**given, "observations": normal(2.0, 1.0, 60)}
    assert solid(ran(frozen("bayesian_update", clear))) == "support"
    assert ran(frozen("bayesian_update", {**given, "observations": [2.0, 2.1]})).outcome == "unresolved"


def from_data(data: list[float]) -> dict[str, Any]:
    given = {"name": "a", "distribution": {"is": "data", "values": data}}
    return {**simulation(than=0.0), "inputs": [given]}


def test_eight_values_do_not_show_what_happens_in_19_of_20_cases() -> None:
    """However often they are drawn: if 1 of 10 is not so, eight that are have a chance of two in five."""
    few, many = normal(5.0, 1.0, 8), normal(5.0, 1.0, 200)
    assert ran(frozen("model_simulation", from_data(few))).outcome == "unresolved"
    report = ran(frozen("model_simulation", from_data(many)))
    assert solid(report) == "support"
    assert report.error_level >= 0.95**200


def test_data_are_no_more_than_the_fewest_values_of_any_input() -> None:
    long, short = normal(5.0, 1.0, 300), normal(5.0, 1.0, 10, seed=4)
    inputs = [
        {"name": name, "distribution": {"is": "data", "values": given}}
        for name, given in (("a", long), ("b", short))
    ]
    params = {**simulation("a + b"), "inputs": inputs}
    assert ran(frozen("model_simulation", params)).outcome == "unresolved"
    half = ran(frozen("model_simulation", params, AtLeast(at_least=0.3)))
    assert half.outcome == "support"


def test_data_that_depend_on_each_other_fail_the_check_of_a_model_too() -> None:
    rising = sorted(normal(5.0, 1.0, 200))
    assert "independence" in [
        check.name for check in ran(frozen("model_simulation", from_data(rising))).checks if not check.passed
    ]
    assert solid(ran(frozen("model_simulation", {**simulation(mean=5.0)}))) == "support"
