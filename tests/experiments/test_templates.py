"""Each template decides by its own rule: what is shown is supported, what is excluded refuted."""

from typing import Any, Final, get_args

import msgspec
import numpy as np
import pytest

from beliefd.experiments.means import mean_of
from beliefd.experiments.registry import code_hash, files, template, templates
from beliefd.experiments.templates.bootstrap_ci import Resampled, contracted
from beliefd.kernel.experiments.params import PARAMS
from beliefd.kernel.experiments.plan import (
    AtLeast,
    CheckName,
    Criterion,
    FailureMode,
    Near,
    Ordered,
    RunOutcome,
    RunReport,
    TemplateName,
    Within,
)
from tests.experiments.support import ABOVE_ZERO, GOOD, STRONG, frozen, normal, ran, simulation

BOOKKEEPING = ("citation_check", "contradiction_detect")
WEAK = normal(0.0, 1.0, 60)
NOISY = normal(0.15, 1.0, 60)
Case = tuple[TemplateName, dict[str, Any], Criterion | None, RunOutcome, FailureMode | None]


def case(
    name: TemplateName,
    outcome: RunOutcome,
    failure: FailureMode | None = None,
    criterion: Criterion | None = None,
    **params: Any,
) -> Case:
    return name, params, criterion, outcome, failure


ABOVE, BELOW = Ordered(side="above", than=0.0), Ordered(side="below", than=0.0)
CLOSE = Near(value=2.0, tolerance=0.01)
VIOLATED: Final = "violated_assumption"
MISSING: Final = "nonidentifiable"
FLIP: Final = "sign_flip"
EFFECT: Final = "effect_direction"
NUMERIC: Final = "numeric_consistency"
CONTRADICTION: Final = "contradiction_detect"
CASES: list[Case] = [
    case("bootstrap_ci", "unresolved", "null_effect", data=WEAK),
    case("bootstrap_ci", "refute", FLIP, BELOW, data=STRONG),
    case("bootstrap_ci", "support", None, Within(low=1.0, high=3.0), data=STRONG),
    case("bootstrap_ci", "refute", VIOLATED, Near(value=9.0, tolerance=1.0), data=STRONG),
    case("bootstrap_ci", "unresolved", MISSING, data=[1.0, 1.1, 0.9]),
    case("bayesian_update", "refute", FLIP, BELOW, observations=STRONG),
    case("bayesian_update", "unresolved", "null_effect", observations=WEAK, region=ABOVE_ZERO),
    case("bayesian_update", "support", None, AtLeast(at_least=0.99), observations=STRONG, region=ABOVE_ZERO),
    case("threshold_check", "refute", FLIP, values=STRONG, threshold=9.0, direction="above"),
    case("threshold_check", "support", None, values=STRONG, threshold=9.0, direction="below"),
    case("threshold_check", "unresolved", "null_effect", values=WEAK, threshold=0.0, direction="above"),
    case("threshold_check", "unresolved", MISSING, values=[3.0], threshold=1.0, direction="above"),
    case(NUMERIC, "refute", VIOLATED, claimed_value=5.0, observed_values=STRONG),
    case(NUMERIC, "unresolved", MISSING, claimed_value=2.0, observed_values=STRONG),
    case(NUMERIC, "unresolved", MISSING, claimed_value=2.0, observed_values=[2.0]),
    case(NUMERIC, "support", None, claimed_value=1.0, observed_values=[1.1] * 6),
    case("sensitivity_suite", "unresolved", VIOLATED, observed_values=NOISY),
    case("sensitivity_suite", "refute", FLIP, BELOW, observed_values=STRONG),
    case("sensitivity_suite", "support", None, Near(value=2.0, tolerance=5.0), observed_values=STRONG),
    case("sensitivity_suite", "unresolved", VIOLATED, CLOSE, observed_values=STRONG),
    case(CONTRADICTION, "unresolved", MISSING, items=[]),
    case(CONTRADICTION, "unresolved", MISSING, items=[{"id": "a", "direction": "unclear"}]),
    case(CONTRADICTION, "refute", VIOLATED, items=[{"id": "a", "direction": "refutes"}]),
    case("citation_check", "unresolved", VIOLATED, required=["a", "b"], bundle=[{"id": "a", "source": "s"}]),
    case(EFFECT, "refute", FLIP, observations=STRONG, expected="negative"),
    case(EFFECT, "unresolved", "null_effect", observations=WEAK, expected="positive"),
    case(EFFECT, "refute", VIOLATED, observations=STRONG, expected="zero"),
    case(EFFECT, "refute", "null_effect", observations=[0.0] * 6, expected="positive"),
    case(EFFECT, "support", None, observations=normal(0, 0.1, 40), expected="zero", negligible=0.5),
    case("model_simulation", "refute", "null_effect", **simulation(than=20.0)),
    case("model_simulation", "unresolved", MISSING, AtLeast(at_least=0.5), **simulation(than=5.0)),
    case("model_simulation", "support", None, ABOVE, **{**simulation(), "region": None}),
]


@pytest.mark.parametrize("name", PARAMS)
def test_a_good_experiment_supports_its_claim_and_passes_all_checks(name: TemplateName) -> None:
    report = ran(frozen(name, GOOD[name]))
    assert (report.status, report.outcome, report.failure_mode) == ("completed", "support", None)
    assert [check.name for check in report.checks if not check.passed] == []
    assert [check.name for check in report.checks] == list(get_args(CheckName))
    assert not report.fragile


@pytest.mark.parametrize(("name", "params", "criterion", "outcome", "failure"), CASES)
def test_a_template_decides_by_its_rule(
    name: TemplateName,
    params: dict[str, Any],
    criterion: Criterion | None,
    outcome: RunOutcome,
    failure: FailureMode | None,
) -> None:
    report = ran(frozen(name, params, criterion))
    assert (report.status, report.outcome, report.failure_mode) == ("completed", outcome, failure)


@pytest.mark.parametrize("name", PARAMS)
def test_every_report_says_what_was_tested_and_fits_its_own_type(name: TemplateName) -> None:
    report = ran(frozen(name, GOOD[name]))
    again = msgspec.convert(msgspec.to_builtins(report), RunReport)
    assert again == report
    assert again.result_hash == report.result_hash
    assert "c-1" not in report.model
    assert report.model.endswith("?")
    assert msgspec.convert(report.result, template(name).result)


@pytest.mark.parametrize("name", PARAMS)
def test_what_is_decided_has_an_error_of_at_most_alpha_unless_it_is_bookkeeping(name: TemplateName) -> None:
    report = ran(frozen(name, GOOD[name], alpha=0.02))
    assert report.bookkeeping == (name in BOOKKEEPING)
    assert report.confidence == 1 - report.error_level
    assert report.error_level == 1.0 if report.bookkeeping else report.error_level <= 0.02


def test_data_that_support_a_claim_never_refute_it() -> None:
    """A supporting result was once proposed as a refutation."""
    claimed = ran(frozen("bootstrap_ci", {"data": STRONG}, Ordered(side="above", than=0.0)))
    opposite = ran(frozen("bootstrap_ci", {"data": STRONG}, Ordered(side="below", than=0.0)))
    assert (claimed.outcome, opposite.outcome) == ("support", "refute")


@pytest.mark.parametrize("value", [5.0, -5.0, 0.1])
def test_constant_data_that_are_not_zero_are_no_zero_effect(value: float) -> None:
    report = ran(frozen("effect_direction", {"observations": [value] * 8, "expected": "zero"}))
    assert report.outcome == "refute"
    assert report.result["direction"] == ("positive" if value > 0 else "negative")
    assert not report.result["matches"]


def test_constant_zeros_are_a_zero_effect_once_there_are_enough_of_them() -> None:
    enough = ran(frozen("effect_direction", {"observations": [0.0] * 6, "expected": "zero"}))
    few = ran(frozen("effect_direction", {"observations": [0.0] * 3, "expected": "zero"}))
    assert (enough.outcome, enough.error_level) == ("support", 0.5**6)
    assert few.outcome == "unresolved"


def test_evidence_that_contradicts_itself_names_the_pairs() -> None:
    items = [
        {"id": "e1", "direction": "supports"},
        {"id": "e2", "direction": "refutes"},
        {"id": "e3", "direction": "unclear"},
    ]
    report = ran(frozen("contradiction_detect", {"items": items}))
    assert report.outcome == "unresolved"
    assert report.result == {"contradictions": 1, "pairs": [["e1", "e2"]], "unresolved_count": 1}


def test_a_smaller_alpha_for_a_later_attempt_is_a_higher_bar() -> None:
    params = {"values": normal(0.9, 1.0, 60), "threshold": 0.0, "direction": "above"}
    first = ran(frozen("threshold_check", params))
    assert first.outcome == "support"
    assert ran(frozen("threshold_check", params, alpha=first.error_level / 2)).outcome == "unresolved"


def test_a_claim_must_hold_in_every_declared_cell() -> None:
    """Along no axis it flips; in one corner of two it does."""
    calm = {"observed_values": normal(0.9, 1.0, 60, seed=4)}
    assert ran(frozen("sensitivity_suite", calm)).outcome == "support"
    report = ran(frozen("sensitivity_suite", {**calm, "axes": [3.0, 2.5]}))
    assert report.outcome == "unresolved"
    assert 0 < report.result["cells_held"] < report.result["cells"] == 12
    assert len(report.diagnostics["sobol_totals"]) == 3
    assert report.fragile


def test_more_perturbations_do_not_make_a_result_surer_than_its_own_noise() -> None:
    """A side that was chosen by looking costs a factor of two; nothing else lowers the level."""
    plain = ran(frozen("bootstrap_ci", {"data": STRONG}))
    for count in (100, 1_000):
        report = ran(frozen("sensitivity_suite", {"observed_values": STRONG, "n_perturbations": count}))
        assert report.outcome == "support"
        assert report.error_level == 2 * mean_of(np.asarray(STRONG)).above(0.0, True)
        assert report.error_level <= plain.error_level


def test_template_ids_carry_a_version_and_their_code_a_hash() -> None:
    assert [one.id for one in templates()] == [f"{name}@{1 if name in BOOKKEEPING else 2}" for name in PARAMS]
    hashes = {code_hash(name) for name in PARAMS}
    assert len(hashes) == len(PARAMS)
    assert all(len(one) == 64 for one in hashes)


def test_the_hash_of_a_template_covers_all_code_that_makes_its_numbers() -> None:
    names = {path.name for path in files("bootstrap_ci")}
    assert {
        "bootstrap_ci.py",
        "rng.py",
        "regions.py",
        "means.py",
        "checks.py",
        "engine.py",
        "params.py",
    } <= names
    assert not names & {"bayesian_update.py", "processes.py", "serial.py", "ray.py"}


@pytest.mark.parametrize("name", [name for name in GOOD if name not in BOOKKEEPING])
def test_no_alpha_is_too_small_for_a_run_to_end(name: TemplateName) -> None:
    report = ran(frozen(name, GOOD[name], alpha=1e-300))
    assert (report.status, report.outcome) == ("completed", "unresolved")
    if "ci_low" in report.result:
        assert report.result["ci_low"] < report.result["ci_high"]


def test_the_number_of_resamples_does_not_limit_what_the_mean_test_shows() -> None:
    values = normal(10.0, 1.0, 60)
    claim = Ordered(side="above", than=0.0)
    report = ran(frozen("bootstrap_ci", {"data": values}, claim, alpha=1e-6))
    alone = mean_of(np.asarray(values)).above(0.0, True)
    assert (report.outcome, report.fragile) == ("support", False)
    assert report.error_level == alone < 1e-6
    # A resample on the wrong side counts as before.
    few = Resampled(60, np.asarray([-1.0, *[1.0] * 1_999]))
    assert few.above(0.0, True) == contracted(2 / 2_001, 60) > 1e-6
