"""Any replicate can be drawn again alone, bit for bit, however replicates are cut into blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator, Philox, SeedSequence

from beliefd.experiments import rng
from beliefd.experiments.engine import planned
from beliefd.experiments.plan import Arm
from beliefd.experiments.registry import template
from beliefd.experiments.rng import indices, uniforms
from beliefd.kernel.experiments.plan import TemplateName
from tests.experiments.support import GOOD, frozen

seeds = st.integers(0, 2**53 - 1)
DRAWING: tuple[TemplateName, ...] = (
    "bootstrap_ci", "bayesian_update", "threshold_check", "sensitivity_suite", "model_simulation",
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(seeds, st.integers(0, 99), st.integers(0, 50), st.integers(1, 20), st.integers(1, 9))
def test_a_replicate_has_its_numbers_wherever_it_is_drawn(
    seed: int, arm: int, first: int, count: int, width: int
) -> None:
    whole = uniforms(seed, arm, 0, first + count, width)
    assert (uniforms(seed, arm, first, count, width) == whole[first:]).all()
    assert ((whole >= 0) & (whole < 1)).all()
    picked = indices(seed, arm, 0, first + count, width, 7)
    assert (indices(seed, arm, first, count, width, 7) == picked[first:]).all()
    assert ((picked >= 0) & (picked < 7)).all()


@settings(max_examples=100, deadline=None)
@given(seeds, st.integers(0, 50), st.integers(0, 400), st.integers(1, 9), st.integers(1, 64))
def test_streamed_rows_are_the_same_however_many_come_at_a_time(
    seed: int, first: int, count: int, width: int, at_once: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rng, "STREAMED", at_once)
        parts = [(start, columns.T.copy()) for start, columns in rng.streamed(seed, 3, first, count, width)]
    whole = uniforms(seed, 3, first, count, width)
    assert sum(len(rows) for _, rows in parts) == count
    for start, rows in parts:
        assert rows.tobytes() == whole[start - first : start - first + len(rows)].tobytes()


MODELS = (
    "a * b + 1",
    "(a - b) / (a + b) - a * 2",
    "where(a > b, 2 * a, b) + 3 * (a < 5) - b",
    "where(1, 2, 3) + a * b",
)


@pytest.mark.parametrize("expression", MODELS)
def test_an_expression_has_the_same_bits_in_blocks_of_any_size(expression: str) -> None:
    params = {**GOOD["model_simulation"], "model": {"language": "expression", "expression": expression}}
    spread = {"is": "uniform", "low": -1.0, "high": 2.5}
    params["inputs"] = [*params["inputs"], {"name": "b", "distribution": spread}]
    chosen, plan = template("model_simulation"), planned(frozen("model_simulation", params))
    arm = chosen.main(plan)
    assert arm is not None
    whole = chosen.draw(plan, arm, 0, 70_000)
    parts = [chosen.draw(plan, arm, *cut) for cut in ((0, 1), (1, 40_000), (40_001, 29_998), (69_999, 1))]
    assert whole.tobytes() == np.concatenate(parts).tobytes()


def test_numbers_are_those_of_philox_seeded_by_the_spec_and_the_arm() -> None:
    expected = Generator(Philox(SeedSequence(7, spawn_key=(3,)))).random((16, 4))
    assert (uniforms(7, 3, 0, 16, 4) == expected).all()


def test_seeds_and_arms_have_streams_of_their_own() -> None:
    streams = [tuple(uniforms(seed, arm, 0, 1, 4)[0]) for seed in (0, 1, 2**53 - 1) for arm in range(40)]
    assert len(set(streams)) == len(streams)


def test_indices_are_even_over_their_range() -> None:
    counts = np.bincount(indices(1, 0, 0, 10_000, 31, 10).ravel(), minlength=10)
    assert np.abs(counts - 31_000).max() < 5 * np.sqrt(31_000 * 0.9)


@pytest.mark.parametrize("name", DRAWING)
def test_every_arm_of_every_template_can_be_drawn_one_replicate_at_a_time(name: TemplateName) -> None:
    chosen, plan = template(name), planned(frozen(name, GOOD[name]))
    main = chosen.main(plan)
    arms = [*([main] if main else []), *chosen.controls(plan, 50)]
    for arm in arms:
        together = chosen.draw(plan, arm, 0, 12)
        alone = np.concatenate([chosen.draw(plan, arm, number, 1) for number in range(12)])
        assert np.array_equal(together, alone, equal_nan=True), arm.name


@given(st.integers(1, 10_000_000), st.floats(1, 1e9))
def test_blocks_cover_all_replicates_once_and_in_order(replicates: int, cost: float) -> None:
    expected = 0
    blocks = Arm("a", 0, min(replicates, int(3e11 / cost) + 1), cost).blocks()
    for first, count in blocks:
        assert first == expected
        assert count >= 1
        expected += count
    assert expected == min(replicates, int(3e11 / cost) + 1)
    assert max(count for _, count in blocks) * cost <= max(cost, 6.01e7)
