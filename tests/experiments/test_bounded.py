"""The level that needs no shape of the noise: computed rightly, and held by any noise in the range."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from beliefd.experiments.bounded import chance_above_zero, level_below
from beliefd.experiments.means import leaning, mean_of, range_ends, reach, uppers

EXPERIMENTS, ALPHA = 4_000, 0.025
CHANCE = 3 * math.sqrt(ALPHA * (1 - ALPHA) / EXPERIMENTS)
weights = st.lists(st.floats(-10, 10), min_size=2, max_size=40).filter(
    lambda found: max(map(abs, found)) > 1e-3
)


@settings(max_examples=40, deadline=None)
@given(weights, st.integers(0, 1_000))
def test_the_integral_is_what_many_draws_say(found: list[float], seed: int) -> None:
    draws = 200_000
    drawn = np.random.default_rng(seed).exponential(size=(draws, len(found))) @ np.asarray(found) > 0
    chance = float(chance_above_zero(np.asarray([found]))[0])
    assert chance == pytest.approx(drawn.mean(), abs=5 * math.sqrt(0.25 / draws))


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
def test_two_values_have_a_closed_form(positive: float, negative: float) -> None:
    chance = float(chance_above_zero(np.asarray([[positive, -negative]]))[0])
    assert chance == pytest.approx(positive / (positive + negative), rel=1e-6)


@pytest.mark.parametrize("count", [1, 2, 7, 40, 300, 5_000])
@pytest.mark.parametrize("positive", [1e-6, 0.3, 2.0])
def test_small_chances_keep_their_digits(count: int, positive: float) -> None:
    """One exponential against the sum of many: a power."""
    row = np.asarray([[positive, *[-0.3] * count]])
    expected = (positive / (positive + 0.3)) ** count
    assert float(chance_above_zero(row)[0]) == pytest.approx(expected, rel=1e-5, abs=1e-300)


@pytest.mark.parametrize(("many", "few"), [(3, 2), (20, 5), (60, 30)])
def test_sums_of_equal_weights_are_a_beta_distribution(many: int, few: int) -> None:
    row = np.asarray([[0.5] * few + [-0.2] * many])
    assert float(chance_above_zero(row)[0]) == pytest.approx(stats.beta(few, many).sf(0.2 / 0.7), rel=1e-6)


@pytest.mark.parametrize(("few", "many", "worth"), [(0, 80, 0.5), (2, 78, 0.33), (3, 9, 0.9), (10, 190, 0.7)])
def test_values_that_are_worth_less_are_as_fewer_of_them(few: int, many: int, worth: float) -> None:
    """Of ones and zeros the level is a beta distribution, whose counts need not be whole."""
    rows = np.asarray([[1.0] * few + [0.0] * many])
    level = level_below(rows, np.asarray([0.2]), np.ones(1), np.asarray([worth]))
    assert float(level[0]) == pytest.approx(stats.beta(few * worth + 1, many * worth).sf(0.2), rel=1e-6)


@given(st.lists(st.floats(-10, 1), min_size=2, max_size=30), st.floats(0.1, 20))
def test_every_value_twice_at_half_its_worth_is_every_value_once(values: list[float], value: float) -> None:
    once, end = np.asarray([values]), np.asarray([30.0])
    twice = level_below(np.repeat(once, 2, axis=1), np.asarray([value]), end, np.asarray([0.5]))
    assert twice == pytest.approx(level_below(once, np.asarray([value]), end), rel=1e-6)


def test_weights_of_any_size_have_a_chance() -> None:
    rows = np.asarray([[0.0, 0, 0], [1, 0, 0], [-1, 0, 0], [1e150, -1e-150, 3], [1e-300, -1e-300, 0]])
    assert chance_above_zero(rows) == pytest.approx([0, 1, 0, 1, 0.5], abs=1e-9)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("n", [8, 40])
def test_with_the_range_known_no_distribution_errs_more_often_than_it_says(share: float, n: int) -> None:
    """Rare ones are the worst that there is within a range."""
    rows = (np.random.default_rng(1).random((EXPERIMENTS, n)) < share).astype(float)
    below = level_below(rows, np.full(len(rows), share), np.ones(len(rows)))
    above = level_below(-rows, np.full(len(rows), -share), np.zeros(len(rows)))
    assert (below <= ALPHA).mean() <= ALPHA + CHANCE
    assert (above <= ALPHA).mean() <= ALPHA + CHANCE


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=2, max_size=30), st.floats(-120, 120), st.floats(0, 20))
def test_a_level_falls_with_the_distance_and_with_a_nearer_end_of_the_range(
    values: list[float], value: float, further: float
) -> None:
    row = np.asarray([values])
    here = uppers(row, 150.0).below(np.asarray([value]), True)
    assert uppers(row, 150.0).below(np.asarray([value + further]), True) <= here + 1e-9
    assert uppers(row, 150.0 + further).below(np.asarray([value]), True) >= here - 1e-9
    turned = mean_of(-row[0], (-150.0, 150.0))
    assert mean_of(row[0], (-150.0, 150.0)).below(value, True) == turned.above(-value, True)


def test_an_end_of_the_range_that_was_taken_from_the_data_is_not_believed() -> None:
    values = np.asarray([[1.0, 2.0, 4.0, 9.0]])
    assert range_ends(values, 9.0) == [24.0]
    assert range_ends(values, 30.0) == [30.0]
    # That values occur again elsewhere says nothing about this end.
    assert range_ends(np.asarray([[0.0, 0.0, 2.0, 4.0, 9.0]]), 9.0) == [24.0]
    # Where the largest occur again, or all others are the same, the range has an end that can be reached.
    assert range_ends(np.asarray([[0.0, 1.0, 3.0, 3.0]]), 3.0) == [3.0]
    assert range_ends(np.asarray([[0.0, 0.0, 1.0]]), 1.0) == [1.0]


MOSTLY_ZERO = [0.0] * 14 + [0.2, 0.4, 0.7, 1.1, 1.6, 2.4]


def test_bounds_that_were_copied_from_a_sample_with_ties_show_nothing() -> None:
    copied = mean_of(np.random.default_rng(5).permutation(MOSTLY_ZERO), (0.0, 2.4))
    known = mean_of(np.random.default_rng(5).permutation([*MOSTLY_ZERO, 2.4]), (0.0, 2.4))
    assert known.below(1.0, True) < ALPHA < copied.below(1.0, True)


def test_the_range_goes_on_farther_where_the_sample_leans() -> None:
    even, skewed = np.asarray([[0.0, 1, 2, 3, 4]]), np.asarray([[0.0, 0.2, 0.4, 1, 4]])
    assert range_ends(even, None) == [4 + 4 * reach(5)]
    assert range_ends(skewed, None) == pytest.approx(4 + 4 * (reach(5) + 8 * leaning(5)))
    assert range_ends(-skewed, None) == pytest.approx(0 + 4 * reach(5))
    assert leaning(200) < leaning(20) / 10


def test_many_values_of_a_skewed_noise_show_what_few_do_not() -> None:
    """Of an exponential noise, one standard deviation inside of the claim: 200 values do, 20 do not."""
    shown = {}
    for n in (20, 200):
        even = -np.log1p(-(np.arange(n) + 0.5) / n)
        shown[n] = mean_of(np.random.default_rng(1).permutation(even)).below(2.0, True)
    assert shown[200] < ALPHA < shown[20]


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 2.5, 1.5, 2.2], [0.0] * 6, [5.0, 5.0]])
def test_an_interval_ends_where_its_level_is_reached(values: list[float]) -> None:
    found = mean_of(np.asarray(values))
    low, high = found.interval(0.9)
    centre = float(np.mean(values))
    assert low <= centre <= high
    if np.ptp(values):
        assert found.below(high, True) <= 0.05 < found.below(centre + 0.8 * (high - centre), True)
        assert found.above(low, True) <= 0.05
