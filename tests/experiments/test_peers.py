"""The same sums as scipy and as the formulas in books, on random input."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from beliefd.experiments.distributions import quantiles, student
from beliefd.experiments.means import mean_of, sample
from beliefd.experiments.plan import Floats
from beliefd.experiments.sobol import BASE, evaluations, totals
from beliefd.experiments.templates.bayesian_update import posterior
from beliefd.experiments.templates.bootstrap_ci import Resampled, contracted, expanded, resample
from beliefd.kernel.experiments.params import (
    BayesianUpdate,
    Bernoulli,
    Data,
    Distribution,
    Exponential,
    LogNormal,
    Normal,
    Uniform,
)
from tests.experiments.support import frozen, normal, ran

numbers = st.floats(-100, 100).map(lambda value: round(value, 3))
samples = st.lists(numbers, min_size=3, max_size=40).filter(lambda values: max(values) - min(values) > 0.1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [12, 80])
def test_bootstrap_means_spread_as_those_of_scipy(seed: int, size: int) -> None:
    data = np.random.default_rng(seed).gamma(2.0, size=size)
    ours = Resampled(size, np.sort(resample(data, seed, 0, 0, 5_000)))
    level = 1 - 2 * expanded(0.025, size)
    peer = stats.bootstrap(
        (data,),
        np.mean,
        n_resamples=20_000,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    error = float(peer.standard_error)
    low, high = ours.interval(0.95)
    assert low == pytest.approx(peer.confidence_interval.low, abs=0.12 * error)
    assert high == pytest.approx(peer.confidence_interval.high, abs=0.12 * error)
    assert np.std(ours.means) == pytest.approx(error, rel=0.05)


@given(st.floats(1e-3, 0.5), st.integers(8, 1_000))
def test_a_level_is_expanded_and_contracted_back(tail: float, n: int) -> None:
    assert contracted(expanded(tail, n), n) == pytest.approx(tail, rel=1e-6)
    assert expanded(tail, n) <= tail + 1e-12


@settings(max_examples=100, deadline=None)
@given(samples, numbers)
def test_one_sided_levels_are_those_of_scipys_t_test(values: list[float], value: float) -> None:
    found = sample(np.asarray(values))
    above = stats.ttest_1samp(values, value, alternative="greater").pvalue
    below = stats.ttest_1samp(values, value, alternative="less").pvalue
    assert found.above(value, True) == pytest.approx(above, rel=1e-9, abs=1e-300)
    assert found.below(value, False) == pytest.approx(below, rel=1e-9, abs=1e-300)
    whole = mean_of(np.asarray(values))
    assert whole.above(value, True) >= found.above(value, True)
    assert whole.below(value, False) >= found.below(value, False)
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    low, high = whole.interval(0.9)
    assert low <= interval.low + 1e-9
    assert high >= interval.high - 1e-9


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.floats(-2, 2), st.floats(0.3, 3), st.floats(0.3, 3)
)
def test_the_posterior_is_prior_times_likelihood(
    values: list[float], prior_mean: float, prior_std: float, noise: float
) -> None:
    """By numerical integration, which knows nothing of conjugacy."""
    found = posterior(
        BayesianUpdate(
            observations=tuple(values), prior_mean=prior_mean, prior_std=prior_std, likelihood_std=noise
        )
    )

    def log_density(truth: float) -> float:
        prior = ((truth - prior_mean) / prior_std) ** 2
        return -(prior + sum(((value - truth) / noise) ** 2 for value in values)) / 2

    def density(truth: float) -> float:
        return float(np.exp(log_density(truth) - peak))

    peak = log_density(found.mean)
    ends = found.mean - 9 * found.std, found.mean + 9 * found.std
    whole = quad(density, *ends)[0]
    mean = quad(lambda truth: truth * density(truth), *ends)[0] / whole
    variance = quad(lambda truth: (truth - mean) ** 2 * density(truth), *ends)[0] / whole
    assert found.mean == pytest.approx(mean, abs=1e-6)
    assert found.std == pytest.approx(np.sqrt(variance), rel=1e-5)


def test_agreement_within_a_tolerance_is_decided_as_by_two_one_sided_tests() -> None:
    values = normal(10.0, 0.5, 25)
    given = {"claimed_value": 10.1, "observed_values": values, "tolerance": 1.4}
    report = ran(frozen("numeric_consistency", given))
    low = stats.ttest_1samp(values, 8.7, alternative="greater").pvalue
    high = stats.ttest_1samp(values, 11.5, alternative="less").pvalue
    found = mean_of(np.asarray(values))
    assert report.error_level == pytest.approx(max(found.above(8.7, True), found.below(11.5, True)), rel=1e-9)
    assert report.diagnostics["student_level"] == pytest.approx(max(low, high), rel=1e-6)
    assert report.error_level >= max(low, high)


def ishigami(rows: Floats) -> Floats:
    x = np.pi * (2 * rows - 1)
    return np.asarray(np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0]))


def test_sobol_totals_are_the_known_ones_of_ishigamis_function() -> None:
    found = totals(evaluations(1, 0, 0, 64 * BASE, 3, ishigami))
    assert found == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.03)


DISTRIBUTIONS: list[tuple[Distribution, Any]] = [
    (Normal(mean=2.0, std=3.0), stats.norm(2, 3)),
    (LogNormal(mean=0.5, std=0.4), stats.lognorm(0.4, scale=np.exp(0.5))),
    (Uniform(low=-1.0, high=4.0), stats.uniform(-1, 5)),
    (Exponential(mean=3.0), stats.expon(scale=3)),
]


@pytest.mark.parametrize(("ours", "peer"), DISTRIBUTIONS)
def test_quantiles_of_inputs_are_scipys(ours: Distribution, peer: Any) -> None:
    even = np.linspace(0.0001, 0.9999, 999)
    assert quantiles(ours, even) == pytest.approx(peer.ppf(even), rel=1e-9, abs=1e-9)


def test_quantiles_of_discrete_inputs_have_the_declared_shares() -> None:
    even = (np.arange(1_000) + 0.5) / 1_000
    assert quantiles(Bernoulli(probability=0.3), even).sum() == 300
    assert np.bincount(quantiles(Data(values=(0.0, 1.0, 2.0, 3.0)), even).astype(int)).tolist() == [250] * 4
    assert student(even) == pytest.approx(stats.t(4).ppf(even) / np.sqrt(2), rel=1e-9, abs=1e-9)
