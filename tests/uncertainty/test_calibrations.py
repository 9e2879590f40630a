"""Calibration sets are kept, versioned by their hash, and predict by name what they do when given whole."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beliefd
from beliefd.embedded import Embedded
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.directory import LOCAL_OPERATOR
from tests.cli.runner import answer
from tests.cli.runner import beliefd as command

RANDOM = np.random.default_rng(4)
ROWS: list[list[float]] = RANDOM.dirichlet([2.0, 1.0, 1.0], 60).tolist()
LABELS: list[int] = RANDOM.integers(0, 3, 60).tolist()
GIVEN: dict[str, Any] = {"probabilities": ROWS, "labels": LABELS}
SCORES: list[float] = RANDOM.random(200).tolist()


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Embedded]:
    with beliefd.open(tmp_path / "store.db", principal=LOCAL_OPERATOR) as opened:
        yield opened


@pytest.mark.parametrize("score", ["lac", "aps"])
def test_a_kept_set_predicts_what_it_predicts_when_given_whole(embedded: Embedded, score: str) -> None:
    kept = embedded.store_calibration("net", model="net-1", score=score, **GIVEN)
    by_name = embedded.measure_conformal_set([0.5, 0.3, 0.2], "net", alpha=0.2)
    whole = embedded.measure_conformal_set([0.5, 0.3, 0.2], GIVEN, alpha=0.2, score=score)
    assert (by_name.labels, by_name.value) == (whole.labels, whole.value)
    assert (by_name.calibration, whole.calibration) == (kept.sha256, None)


def test_what_is_kept_outlives_the_process_and_each_change_is_a_version(tmp_path: Path) -> None:
    def opened() -> Embedded:
        return beliefd.open(tmp_path / "store.db", principal=LOCAL_OPERATOR)

    with opened() as first:
        one = first.store_calibration("net", model="net-1", scores=SCORES)
        same = first.store_calibration("net", model="net-1", scores=SCORES)
        assert (one.version, same) == (1, one)
    with opened() as second:
        assert second.show_calibration("net") == one
        two = second.append_calibration("net", scores=SCORES[:50])
        three = second.store_calibration("net", model="net-2", scores=SCORES[:30])
    assert [(found.version, found.count) for found in (one, two, three)] == [(1, 200), (2, 250), (3, 30)]
    assert len({one.sha256, two.sha256, three.sha256}) == 3
    assert one.least_alpha == pytest.approx(1 / 201)


def test_an_old_version_predicts_what_it_did(embedded: Embedded) -> None:
    old = embedded.store_calibration("net", model="net-1", scores=[0.05] * 30)
    before = embedded.measure_conformal_set([0.5, 0.5], "net")
    embedded.store_calibration("net", model="net-1", scores=[0.95] * 30)
    assert embedded.measure_conformal_set([0.5, 0.5], "net").labels == ["0", "1"]
    assert embedded.measure_conformal_set([0.5, 0.5], "net", version=1) == before
    assert embedded.show_calibration("net", version=1) == old
    with pytest.raises(BeliefdError, match="there is no version 3 of a calibration set `net`"):
        embedded.show_calibration("net", version=3)
    with pytest.raises(BeliefdError, match="only a kept set has versions"):
        embedded.measure_conformal_set([0.5, 0.3, 0.2], GIVEN, version=1)


def test_a_set_that_is_too_small_for_alpha_is_refused_until_it_has_grown(embedded: Embedded) -> None:
    embedded.store_calibration("net", model="net-1", scores=SCORES[:8])
    with pytest.raises(BeliefdError, match=r"8 scores are too few for alpha 0\.1; give at least 9"):
        embedded.measure_conformal_set([0.6, 0.4], "net", alpha=0.1)
    grown = embedded.append_calibration("net", scores=SCORES[8:9])
    assert grown.least_alpha == pytest.approx(0.1)
    assert embedded.measure_conformal_set([0.6, 0.4], "net", alpha=0.1).calibration == grown.sha256


def test_scores_that_have_drifted_are_told_when_added_and_when_predicting(embedded: Embedded) -> None:
    embedded.store_calibration("net", model="net-1", scores=SCORES)
    assert embedded.append_calibration("net", scores=RANDOM.random(100).tolist()).warning is None
    high = [0.9 + 0.1 * score for score in SCORES[:60]]
    warned = embedded.measure_conformal_set([0.6, 0.4], "net", recent=high)
    assert "not to be relied on" in (warned.warning or "")
    assert embedded.measure_conformal_set([0.6, 0.4], "net", recent=SCORES[:60]).warning is None
    assert "not to be relied on" in (embedded.append_calibration("net", scores=high).warning or "")


def test_groups_have_quantiles_of_their_own_and_the_smallest_sets_the_limit(embedded: Embedded) -> None:
    groups = ["easy"] * 120 + ["hard"] * 80
    kept = embedded.store_calibration("net", model="net-1", scores=SCORES, groups=groups)
    assert kept.groups == {"easy": 120, "hard": 80}
    assert kept.least_alpha == pytest.approx(1 / 81)
    found = embedded.measure_conformal_set([0.5, 0.5], "net", group="never seen")
    assert found.labels == ["0", "1"]
    with pytest.raises(BeliefdError, match="name a group"):
        embedded.measure_conformal_set([0.5, 0.5], "net")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scores": SCORES[:5], "groups": ["a"] * 5}, "either all scores have a group or none has"),
        (GIVEN, "the set has `columns` None, what comes to it has 3"),
        ({}, "give either `scores` or `probabilities`"),
        ({"scores": []}, "the calibration set is empty"),
        ({"probabilities": ROWS, "labels": [0]}, "60 rows, but 1 labels"),
        ({"scores": [1.5]}, "<= 1.0"),
    ],
)
def test_what_does_not_belong_into_a_set_is_refused_and_nothing_is_kept(
    embedded: Embedded, given: dict[str, Any], message: str
) -> None:
    before = embedded.store_calibration("net", model="net-1", scores=SCORES)
    with pytest.raises(BeliefdError, match=re.escape(message)) as raised:
        embedded.append_calibration("net", **given)
    assert raised.value.code is Code.INVALID_REQUEST
    assert embedded.show_calibration("net") == before


def test_a_prediction_names_exactly_one_set_that_is_there_and_fits(embedded: Embedded) -> None:
    embedded.store_calibration("net", model="net-1", **GIVEN)
    with pytest.raises(BeliefdError) as raised:
        embedded.measure_conformal_set([0.6, 0.4], "nowhere")
    assert raised.value.code is Code.NOT_FOUND
    with pytest.raises(BeliefdError, match="2 labels, but 3 in the calibration set"):
        embedded.measure_conformal_set([0.6, 0.4], "net")
    with pytest.raises(BeliefdError, match="has `lac` scores"):
        embedded.measure_conformal_set([0.6, 0.3, 0.1], "net", score="aps")


def test_who_is_measured_may_not_choose_what_he_is_measured_by(tmp_path: Path) -> None:
    with beliefd.open(tmp_path / "store.db") as agent, pytest.raises(BeliefdError) as raised:
        agent.store_calibration("net", model="net-1", scores=SCORES)
    assert raised.value.code is Code.FORBIDDEN


def test_appends_at_the_same_time_are_all_there() -> None:
    async def together() -> int:
        async with await beliefd.open_async(":memory:", principal=LOCAL_OPERATOR) as opened:
            await opened.store_calibration("net", model="net-1", scores=SCORES[:10])
            await asyncio.gather(
                *(opened.append_calibration("net", scores=[score]) for score in SCORES[10:18])
            )
            return (await opened.show_calibration("net")).count

    assert asyncio.run(together()) == 18


def test_the_command_line_keeps_adds_shows_and_predicts(tmp_path: Path) -> None:
    rows, more, asked = (tmp_path / name for name in ("rows.json", "more.json", "asked.json"))
    rows.write_text(json.dumps(GIVEN))
    more.write_text(json.dumps({"probabilities": ROWS[:5], "labels": LABELS[:5]}))
    asked.write_text(json.dumps({"probabilities": [0.98, 0.01, 0.01], "labels": ["a", "b", "c"]}))
    data = ("--data", tmp_path / "data")
    kept = answer("calibration", "put", "net", rows, "--model", "net-1", *data)
    assert (kept["version"], kept["count"]) == (1, 60)
    assert answer("calibration", "append", "net", more, *data)["count"] == 65
    shown = command("calibration", "show", "net", *data)
    assert "net version 2: 65 lac scores of net-1" in shown.stdout
    predicted = command("calibration", "predict", "net", asked, "--alpha", "0.3", *data, "--json")
    assert (
        json.loads(predicted.stdout)["calibration"] == answer("calibration", "show", "net", *data)["sha256"]
    )
    asked.write_text("{}")
    refused = command("calibration", "predict", "net", asked, *data)
    assert (refused.exit_code, "missing required field `probabilities`" in refused.output) == (2, True)
