"""False claims are supported at most as often as alpha says, whatever the noise; true ones still are."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scripts.panel_picture import picture

from beliefd.cli.commands.experiment import experiment
from beliefd.experiments import means
from beliefd.experiments.panel.cells import Job, concluded, measured, shown, solid
from beliefd.experiments.panel.claims import CLAIMS, OF_MEANS, plan_of
from beliefd.experiments.panel.families import FAMILIES
from beliefd.experiments.panel.results import Cell, Panel
from beliefd.experiments.panel.run import panel
from beliefd.kernel.experiments.plan import TemplateName

ALPHA = 0.025
NAMES = [one.name for one in FAMILIES]


def cells(family: str | None, n: int, *names: TemplateName, experiments: int = 400) -> list[Cell]:
    return measured(Job(n, names, experiments, ALPHA, 0, family))


@pytest.mark.parametrize("family", NAMES)
def test_false_claims_are_supported_no_more_often_than_alpha_says(family: str) -> None:
    for n in (8, 20):
        for cell in cells(family, n, "threshold_check", "model_simulation"):
            assert not cell.too_many(ALPHA), cell


@pytest.mark.parametrize(("family", "n"), [("lognormal 1.5", 8), ("2 % at +20 sd", 60), ("AR 0.8", 8)])
def test_the_panel_notices_a_range_that_ends_with_the_sample(
    family: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("reach", "leaning"):
        monkeypatch.setattr(means, name, lambda _: 0.0)
    assert any(cell.too_many(ALPHA) for cell in cells(family, n, "threshold_check"))


@pytest.mark.slow
@pytest.mark.parametrize("name", CLAIMS)
def test_the_whole_panel_holds(name: TemplateName) -> None:
    # One process: others have tests to run, and a pool would import numpy and scipy anew in each of its own.
    found = panel([name], (8, 40), seed=1, experiments=500, processes=1)
    assert found.holds, found.exceeded


@pytest.mark.parametrize("name", CLAIMS)
def test_true_claims_that_are_clear_are_supported(name: TemplateName) -> None:
    """Nineteen of twenty at most: the test of the order rejects one in twenty of independent samples."""
    power = {cell.distance: cell.rate for cell in cells(None, 40, name)}
    assert power[4.0] >= power[2.0] >= 0.85
    assert power[1.0] >= 0.4


rows = st.lists(st.floats(-10, 10), min_size=5, max_size=12).filter(lambda values: np.ptp(values) > 0.01)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(OF_MEANS)), rows, st.floats(-12, 12), st.booleans())
def test_what_the_panel_passes_over_is_supported_by_no_template(
    name: TemplateName, values: list[float], edge: float, below: bool
) -> None:
    row = np.asarray(values)
    if not shown(row[None, :], edge, below, ALPHA)[0]:
        assert concluded(plan_of(name, row, edge, below, ALPHA, 0, None)).decision.outcome != "support"


def test_panels_are_the_same_however_many_processes_there_are() -> None:
    asked: dict[str, Any] = {"seed": 3, "experiments": 60}
    one, two = (panel(["threshold_check"], (8,), processes=count, **asked) for count in (1, 2))
    assert one == two
    assert panel(["threshold_check"], (8,), processes=1, seed=4, experiments=60) != one


def test_the_command_prints_the_table_and_exits_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["panel", "--template", "threshold_check", "--n", "8", "--experiments", "50"]
    told = CliRunner().invoke(experiment, asked)
    assert told.exit_code == 0
    assert "threshold_check" in told.stdout
    answer = CliRunner().invoke(experiment, [*asked, "--json"])
    assert msgspec.json.decode(answer.stdout, type=Panel).lines[0].n == 8
    refused = CliRunner().invoke(experiment, ["panel", "--template", "citation_check"])
    assert refused.exit_code == 2
    monkeypatch.setattr(Panel, "holds", property(lambda _: False))
    assert CliRunner().invoke(experiment, asked).exit_code == 4


def test_a_test_that_looks_after_every_replicate_stops_early_and_holds() -> None:
    found = panel(["model_simulation"], (8,), experiments=60).sequence
    assert found is not None
    assert found.supports == found.runs == 60
    assert found.mean_decided_after < found.fixed_sample / 5
    assert not found.too_many(ALPHA)


def test_what_is_known_not_to_be_held_is_marked() -> None:
    found = panel(["threshold_check"], (40,), experiments=200, beyond=True)
    assert not found.holds
    assert "1 % at +100 sd" in {cell.family for cell in found.exceeded}


def test_a_solid_run_is_one_that_supports_and_fails_no_check() -> None:
    values = np.random.default_rng(2).normal(size=40)
    assert solid(plan_of("threshold_check", values, 3.0, True, ALPHA, 0, None))
    assert not solid(plan_of("threshold_check", np.sort(values), 3.0, True, ALPHA, 0, None))
    assert not solid(plan_of("threshold_check", values, 3.0, False, ALPHA, 0, None))


def test_the_picture_in_the_documentation_is_drawn_from_its_numbers() -> None:
    pictures = Path(__file__).parents[2] / "docs" / "pictures"
    found = msgspec.json.decode((pictures / "panel.json").read_bytes(), type=Panel)
    assert (pictures / "panel.svg").read_text(encoding="utf-8") == picture(found)
    assert found.holds
    assert {line.template for line in found.lines} == set(CLAIMS)
    assert found.families == len(FAMILIES)
