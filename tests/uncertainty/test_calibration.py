"""Confidence, conformal sets and thresholds keep the promises they are known for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.errors import BeliefdError
from beliefd.uncertainty.confidence_score import (
    confidence_score,
    expected_calibration_error,
    fit_isotonic,
    fit_temperature,
    reliability,
)
from beliefd.uncertainty.conformal import (
    calibrate,
    conformal_set,
    drift,
    minimum_size,
    predict,
    quantile,
    scores_of,
)
from beliefd.uncertainty.thresholds import binomial_tail, learn_then_test


def overconfident(count: int = 2000, seed: int = 1) -> tuple[list[float], list[bool]]:
    """Confidences whose logit is twice what it should be."""
    random = np.random.default_rng(seed)
    logits = random.normal(1, 1.5, count)
    right = random.random(count) < 1 / (1 + np.exp(-logits))
    return (1 / (1 + np.exp(-2 * logits))).tolist(), right.tolist()


def test_a_temperature_of_two_is_found_and_mends_the_calibration() -> None:
    confidences, right = overconfident()
    fitted = fit_temperature(confidences, right)
    assert fitted.temperature == pytest.approx(2, abs=0.25)
    fresh, truth = overconfident(seed=2)
    before = expected_calibration_error(fresh, truth)
    after = expected_calibration_error([fitted.apply(one) for one in fresh], truth)
    assert after < before / 2
    isotonic = fit_isotonic(confidences, right)
    assert expected_calibration_error([isotonic.apply(one) for one in fresh], truth) < before / 2


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=20, max_size=60))
def test_isotonic_calibration_never_falls(pairs: list[tuple[float, bool]]) -> None:
    confidences, right = [one for one, _ in pairs], [label for _, label in pairs]
    if len(set(right)) < 2:
        return
    fitted = fit_isotonic(confidences, right)
    values = [fitted.apply(one) for one in sorted(confidences)]
    assert values == sorted(values)
    assert all(0 <= one <= 1 for one in values)


def test_calibration_error_is_the_published_sum() -> None:
    confidences, right = [0.95, 0.95, 0.55, 0.55], [True, False, True, False]
    assert expected_calibration_error(confidences, right) == pytest.approx(0.5 * 0.45 + 0.5 * 0.05)
    assert [(one.count, one.accuracy) for one in reliability(confidences, right)] == [(2, 0.5), (2, 0.5)]
    assert expected_calibration_error([1.0, 0.0], [True, False]) == 0


@pytest.mark.parametrize(
    ("confidences", "right", "message"),
    [
        ([0.5] * 5, [True, False, True, False, True], "too few to calibrate"),
        ([0.5] * 30, [True] * 30, "all labels are the same"),
        ([0.5] * 30, [True] * 29, "30 confidences, but 29 labels"),
        ([math.nan] * 30, [True, False] * 15, "no finite number"),
        ([1.5] * 30, [True, False] * 15, "no confidence between 0 and 1"),
    ],
)
def test_sets_that_teach_nothing_are_refused(
    confidences: list[float], right: list[bool], message: str
) -> None:
    for fit in (fit_temperature, fit_isotonic):
        with pytest.raises(BeliefdError, match=message):
            fit(confidences, right)


def test_token_log_probabilities_become_their_geometric_mean() -> None:
    found = confidence_score(token_logprobs=[math.log(0.9), math.log(0.4)])
    assert found.uncertainty.value == pytest.approx(1 - math.sqrt(0.36))
    assert "not calibrated" in found.uncertainty.interpretation


@pytest.mark.parametrize(
    ("confidence", "tokens", "message"),
    [
        (None, None, "either"),
        (0.5, [-0.1], "either"),
        (1.2, None, "no confidence"),
        (math.nan, None, "no confidence"),
        (None, [], "no tokens"),
        (None, [-0.1, math.nan], "finite"),
        (None, [0.5], "not above 0"),
    ],
)
def test_confidence_from_nothing_or_nonsense_is_refused(
    confidence: float | None, tokens: list[float] | None, message: str
) -> None:
    with pytest.raises(BeliefdError, match=message):
        confidence_score(confidence, tokens)


@pytest.mark.parametrize("score", ["lac", "aps"])
def test_conformal_sets_cover_as_promised_over_a_thousand_problems(score: str) -> None:
    """Mean coverage over problems is at least 1 - alpha, within what 1,000 draws of 20 can be off by."""
    random = np.random.default_rng(7)
    alpha, problems, fresh = 0.1, 1000, 20
    hits = 0
    for _ in range(problems):
        count = int(random.integers(minimum_size(alpha), 60))
        rows = random.dirichlet(np.full(4, 0.6), count + fresh)
        truth = (rows.cumsum(axis=1) < random.random(len(rows))[:, None]).sum(axis=1).clip(0, 3)
        scores = scores_of(rows[:count], truth[:count].tolist(), score)  # type: ignore[arg-type]
        sets = predict(calibrate(scores, alpha, score), rows[count:])  # type: ignore[arg-type]
        hits += int(sets[np.arange(fresh), truth[count:]].sum())
    covered = hits / (problems * fresh)
    # Draws of one problem share a calibration set: the variance of its coverage is at most 0.1 * 0.9 / 10.
    slack = 4 * math.sqrt(0.09 / (problems * fresh) + 0.009 / problems)
    assert 1 - alpha - slack <= covered
    assert covered <= (0.97 if score == "lac" else 1.0)


def test_every_group_is_covered_with_a_quantile_of_its_own() -> None:
    random = np.random.default_rng(3)
    groups = ["easy"] * 500 + ["hard"] * 500
    scores = np.concatenate([random.random(500) * 0.2, random.random(500)])
    found = calibrate(scores, 0.1, groups=groups)
    assert found.groups["easy"] < 0.2
    assert found.groups["hard"] > 0.8
    rows = [[0.5, 0.5], [0.5, 0.5], [0.01, 0.99]]
    assert predict(found, rows, ["easy", "hard", "never seen"]).tolist() == [
        [False] * 2,
        [True] * 2,
        [True] * 2,
    ]


def test_the_set_of_all_labels_is_1_one_label_is_0_and_no_label_is_1() -> None:
    calibrated = calibrate([0.05 * step for step in range(20)], 0.3)
    assert conformal_set(calibrated, [0.98, 0.01, 0.01])[0].uncertainty.value == 0
    assert conformal_set(calibrated, [0.34, 0.33, 0.33])[0].uncertainty.value == 1
    tight = calibrate([0.01] * 20, 0.3)
    found, labels = conformal_set(tight, [0.5, 0.5], ["a", "b"])
    assert (found.uncertainty.value, labels) == (1, ())
    assert "no label fits" in found.uncertainty.interpretation


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.2, 0.3])
def test_fewer_scores_than_the_minimum_are_refused_and_the_minimum_is_enough(alpha: float) -> None:
    least = minimum_size(alpha)
    assert quantile([0.5] * least, alpha) == 0.5
    with pytest.raises(BeliefdError, match=f"give at least {least}"):
        quantile([0.5] * (least - 1), alpha)


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ([[0.5, 0.6]], [0], "row 0 sums to 1.1, not to 1"),
        ([[0.5, math.nan]], [0], "finite"),
        ([[1.5, -0.5]], [0], "not negative"),
        ([[0.5, 0.5], [1.0]], [0, 0], "different lengths"),
        ([[0.5, 0.5]], [2], "no column"),
        ([[0.5, 0.5]], [0, 1], "1 rows, but 2 labels"),
        ([[1.0]], [0], "at least 2"),
    ],
)
def test_rows_that_are_no_probabilities_are_refused(
    rows: list[list[float]], labels: list[int], message: str
) -> None:
    with pytest.raises(BeliefdError, match=message):
        scores_of(rows, labels)


def test_a_group_that_is_too_small_is_named() -> None:
    with pytest.raises(BeliefdError, match="group `rare` has 2 scores"):
        calibrate([0.5] * 30, 0.1, groups=["common"] * 28 + ["rare"] * 2)


def test_drift_is_noticed_and_the_same_world_is_not_called_drift() -> None:
    random = np.random.default_rng(5)
    calibrated = calibrate(random.random(1000), 0.1)
    assert drift(calibrated, random.random(300).tolist()) is None
    warning = drift(calibrated, (random.random(300) * 0.5 + 0.5).tolist())
    assert warning is not None
    assert "not to be relied on" in warning
    assert drift(calibrated, []) is None


def test_false_thresholds_are_certified_no_more_often_than_promised() -> None:
    """Risk rises with the uncertainty: a threshold above 0.4 would break a promise of 0.2."""
    random = np.random.default_rng(11)
    delta, broken, trials = 0.1, 0, 300
    for _ in range(trials):
        values = random.random(300)
        wrong = random.random(300) < values
        found = learn_then_test(values.tolist(), wrong.tolist(), 0.2, delta).value
        broken += found is not None and found > 0.4
    assert broken / trials <= delta + 3 * math.sqrt(delta * (1 - delta) / trials)


def test_a_threshold_is_found_where_there_is_one_and_none_where_there_is_none() -> None:
    values = [step / 1000 for step in range(1000)]
    found = learn_then_test(values, [value > 0.5 for value in values], 0.05)
    assert found.value == 0.5
    assert "accept up to 0.50" in str(found)
    none = learn_then_test(values, [place % 2 == 0 for place in range(1000)], 0.05)
    assert none.value is None
    assert str(none).startswith("no threshold certifies this")


def test_the_binomial_tail_is_exact() -> None:
    assert binomial_tail(0, 10, 0.1) == pytest.approx(0.9**10)
    assert binomial_tail(1, 2, 0.5) == pytest.approx(0.75)
    assert binomial_tail(0, 0, 0.5) == 1
