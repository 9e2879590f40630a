"""Looking after every replicate does not raise the error: e-processes, confidence sequences, e-BH."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad

from beliefd.experiments.sequential import (
    confidence_sequence,
    e_bh,
    e_value,
    ever_shown,
    log_capital,
    looked_at,
    walk,
)
from beliefd.kernel.experiments.plan import Budget
from tests.experiments.support import frozen, ran, simulation

EXPERIMENTS, STEPS, ALPHA = 10_000, 1_000, 0.05
LONG = Budget(seconds=30, replicates=1_000_000)


def capitals(rate: float, above: bool) -> NDArray[np.float64]:
    """The log capital after every step for every count of successes: row n, column s."""
    steps = np.arange(1, STEPS + 1)[:, None]
    successes = np.minimum(np.arange(STEPS + 1)[None, :], steps)
    return log_capital(successes.astype(float), (steps - successes).astype(float), rate, above)


def ever_crossed(truth: float, rate: float, above: bool) -> float:
    """The share of experiments that ever show a rate above (below) `rate`, at a look after each step."""
    held = np.random.default_rng(11).random((EXPERIMENTS, STEPS)) < truth
    paths = capitals(rate, above)[np.arange(STEPS)[None, :], np.cumsum(held, axis=1)]
    return float((paths.max(axis=1) >= -math.log(ALPHA)).mean())


def test_rows_of_walks_are_judged_as_one_by_one() -> None:
    rows = np.random.default_rng(8).random((50, 120)) < 0.85
    never = np.zeros(120, dtype=bool)
    alone = [walk(row, never, 0.7, ALPHA) for row in rows]
    assert ever_shown(rows, 0.7, ALPHA, above=True).tolist() == [
        one.log_support >= -math.log(ALPHA) for one in alone
    ]
    assert 0 < ever_shown(rows, 0.7, ALPHA, above=True).sum() < 50


@pytest.mark.parametrize("rate", [0.5, 0.95])
@pytest.mark.parametrize("above", [True, False])
def test_of_ten_thousand_experiments_at_most_a_share_alpha_errs_at_any_look(rate: float, above: bool) -> None:
    wrong = ever_crossed(rate, rate, above)
    assert 0 < wrong <= ALPHA


def test_a_claim_that_is_true_by_a_clear_margin_is_nearly_always_found() -> None:
    assert ever_crossed(0.99, 0.95, above=True) > 0.99
    assert ever_crossed(0.90, 0.95, above=False) > 0.97


@pytest.mark.parametrize(("truth", "outcome"), [(0.999, "support"), (0.5, "refute"), (0.95, "unresolved")])
def test_a_walk_ends_in_one_of_three_ways(truth: float, outcome: str) -> None:
    held = np.random.default_rng(4).random(2_000) < truth
    walked = walk(held, np.zeros(2_000, dtype=bool), 0.95, ALPHA)
    assert walked.outcome == outcome
    assert walked.steps < 300 if outcome != "unresolved" else walked.steps == 2_000
    assert walked.error_level <= ALPHA if outcome != "unresolved" else walked.error_level == 1.0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=300), st.floats(0.05, 0.95))
def test_a_replicate_that_failed_never_helps_any_conclusion(held: list[bool], rate: float) -> None:
    values, none = np.asarray(held), np.zeros(len(held), dtype=bool)
    failed = np.arange(len(held)) % 3 == 0
    whole, holed = walk(values, none, rate, ALPHA), walk(values, failed, rate, ALPHA)
    assert holed.log_support <= walk(values & ~failed, none, rate, ALPHA).log_support + 1e-9
    assert holed.log_refute <= walk(values | failed, none, rate, ALPHA).log_refute + 1e-9
    assert whole.steps <= len(held)


def test_a_model_that_never_has_an_output_shows_nothing_either_way() -> None:
    report = ran(frozen("model_simulation", simulation("log(0 - abs(a))")))
    assert (report.outcome, report.failure_mode) == ("unresolved", "violated_assumption")
    assert report.failed_replicates == report.replicates
    assert report.fragile


def test_a_clear_case_ends_early_and_says_so() -> None:
    report = ran(frozen("model_simulation", simulation()))
    assert report.stopped_early is False  # the default budget is one block
    long = frozen("model_simulation", simulation(), budget=LONG)
    report = ran(long)
    assert report.stopped_early
    assert report.replicates < 10_000
    assert report.result["decided_after"] < 200


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.1, 0.9))
def test_the_capital_is_the_average_of_all_bets_on_its_side(
    successes: int, failures: int, rate: float
) -> None:
    def bet(truth: float) -> float:
        return (truth / rate) ** successes * ((1 - truth) / (1 - rate)) ** failures

    expected = quad(bet, rate, 1)[0] / (1 - rate)
    found = log_capital(np.asarray([float(successes)]), np.asarray([float(failures)]), rate, True)[0]
    assert math.exp(found) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_confidence_sequences_cover_the_truth_at_all_times_at_once() -> None:
    """One interval after every step of 200 walks; the truth may ever leave it in a share alpha of them."""
    rng, missed = np.random.default_rng(9), 0
    for _ in range(200):
        counts = np.cumsum(rng.random(150) < 0.3)
        missed += any(
            not low <= 0.3 <= high
            for n, count in enumerate(counts, start=1)
            if n % 5 == 0
            for low, high in [confidence_sequence(int(count), n - int(count), ALPHA)]
        )
    assert missed / 200 <= ALPHA


@given(st.integers(0, 500), st.integers(0, 500), st.floats(0.001, 0.5))
def test_a_confidence_sequence_contains_what_was_seen(successes: int, failures: int, alpha: float) -> None:
    low, high = confidence_sequence(successes, failures, alpha)
    seen = successes / (successes + failures) if successes + failures else 0.5
    assert 0 <= low <= seen <= high <= 1


def test_looks_are_after_every_replicate_first_and_then_after_every_so_many() -> None:
    assert list(looked_at(5)) == [0, 1, 2, 3, 4]
    looks = looked_at(100_000)
    assert (looks[:4096] == np.arange(4096)).all()
    assert set(np.diff(looks[4096:])) == {256}
    assert looks[-1] < 100_000


def test_e_bh_keeps_false_discoveries_rare_among_many_claims_that_depend_on_each_other() -> None:
    rng, shares = np.random.default_rng(6), []
    for _ in range(500):
        common = rng.normal()
        shift = np.where(np.arange(40) < 10, 4.5, 0.0)
        values = 0.6 * common + 0.8 * rng.normal(size=40) + shift
        found = e_bh([math.exp(3 * value - 4.5) for value in values], 0.1)
        shares.append(sum(place >= 10 for place in found) / max(1, len(found)))
    assert np.mean(shares) <= 0.1
    assert e_bh([1e6] + [1.0] * 9, 0.05) == (0,)
    assert e_bh([1.0] * 10, 0.05) == ()
    assert e_bh([], 0.05) == ()


def test_the_e_value_of_a_p_value_has_an_expectation_of_at_most_one() -> None:
    assert quad(e_value, 0, 1)[0] <= 1 + 1e-9
