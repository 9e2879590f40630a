"""Over thousands of simulated experiments a wrong outcome is at most as frequent as alpha says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.experiments.means import level_above, mean_of, sample, uppers
from beliefd.experiments.plan import Decision
from beliefd.experiments.regions import Span, decided, differs, judged
from beliefd.experiments.templates.bootstrap_ci import Resampled, resample

EXPERIMENTS, ALPHA = 10_000, 0.05
CHANCE = 3 * np.sqrt(ALPHA * (1 - ALPHA) / EXPERIMENTS)


@pytest.mark.parametrize("n", [2, 5, 30])
@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_means_on_the_edge_of_a_region_are_rarely_said_to_be_inside(n: int, turned: float) -> None:
    rows = turned * np.random.default_rng(1).normal(0.0, 1.0, (EXPERIMENTS, n))
    student = level_above(-rows.mean(axis=1), rows.std(axis=1, ddof=1), n, True)
    assert (student <= ALPHA).mean() <= ALPHA + CHANCE
    some = student <= ALPHA
    assert (uppers(rows[some]).below(np.zeros(some.sum()), True) >= student[some]).all()


@pytest.mark.parametrize("n", [2, 5, 30])
def test_means_inside_a_region_are_rarely_said_to_be_outside(n: int) -> None:
    rows = np.random.default_rng(2).normal(0.0, 1.0, (EXPERIMENTS, n))
    mean, std = rows.mean(axis=1), rows.std(axis=1, ddof=1)
    # A region of no width is the worst case: it can be left on both sides.
    levels = 2 * np.minimum(level_above(mean, std, n, True), level_above(-mean, std, n, True))
    assert (levels <= ALPHA).mean() <= ALPHA + CHANCE
    some = [judged(Span(0.0, 0.0), *sample(row).levels, ALPHA).outcome for row in rows[:500]]
    assert some.count("refute") == (levels[:500] <= ALPHA).sum()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "draw"), [(8, "normal"), (20, "normal"), (40, "laplace"), (40, "uniform")])
def test_the_bootstrap_says_that_a_null_differs_at_most_about_as_often_as_alpha(n: int, draw: str) -> None:
    """Its level is approximate: a fifth of alpha is granted on top of chance."""
    rng, experiments = np.random.default_rng(3), 2_000
    shift = 0.5 if draw == "uniform" else 0.0
    outcomes = []
    for number in range(experiments):
        values = getattr(rng, draw)(size=n) - shift
        found = Resampled(n, np.sort(resample(values, number, 0, 0, 500)))
        outcomes.append(differs(0.0, found.above, found.below, ALPHA).outcome)
    chance = 3 * np.sqrt(ALPHA * (1 - ALPHA) / experiments)
    assert outcomes.count("support") / experiments <= 1.2 * ALPHA + chance
    assert "refute" not in outcomes


levels = st.floats(0, 1)


@settings(max_examples=300)
@given(levels, levels, st.floats(0.001, 0.5))
def test_nothing_is_decided_at_more_than_alpha_nor_both_ways(
    support: float, refute: float, alpha: float
) -> None:
    found = decided(support, refute, alpha)
    assert found == Decision("unresolved", 1.0) or found.error_level <= alpha
    if found.outcome == "support":
        assert support < refute
    if found.outcome == "refute":
        assert refute < support


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=12),
    st.floats(-50, 50),
    st.floats(0, 20),
)
def test_a_claim_and_its_opposite_are_never_both_supported(
    values: list[float], than: float, reach: float
) -> None:
    found = mean_of(np.asarray(values))
    above = judged(Span(low=than, strict=True), *found.levels, ALPHA).outcome
    below = judged(Span(high=than), *found.levels, ALPHA).outcome
    assert (above == "support") == (below == "refute")
    assert not (above == "support" and below == "support")
    near = judged(Span(than - reach, than + reach), *found.levels, ALPHA).outcome
    assert not (
        near == "support"
        and judged(Span(low=than + reach, strict=True), *found.levels, ALPHA).outcome == "support"
    )


@pytest.mark.parametrize("count", [2, 4, 5, 20])
def test_constant_values_are_worth_a_sign_test(count: int) -> None:
    found = sample(np.full(count, 0.1))
    assert (found.mean, found.std) == (0.1, 0.0)
    assert found.above(0.0, True) == 0.5**count
    assert found.below(0.0, True) == 1.0
    assert found.above(0.1, True) == 1.0
    assert found.above(0.1, False) == 0.5**count
