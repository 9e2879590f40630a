"""The same input gives the same number as in peer libraries; where a peer deviates, that is named."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.peers.lm_polygraph import RECORD, Free, answers

from beliefd.uncertainty.conformal import calibrate, predict, scores_of
from beliefd.uncertainty.equivalence.port import Bench, Pair
from beliefd.uncertainty.scoring import aurac, auroc
from beliefd.uncertainty.semantic_entropy import cluster, discrete_entropy, meanings, weighted_entropy

FIXTURES = Path(__file__).parent / "fixtures"
STORED = json.loads((FIXTURES / "semantic_entropy.json").read_text(encoding="utf-8"))
CASES: dict[str, Any] = STORED["cases"]
PROBLEMS: list[Any] = json.loads((FIXTURES / "conformal.json").read_text(encoding="utf-8"))["problems"]
NOT_TRANSITIVE = ("E5_nontransitive", "E8_steal")


class Scripted:
    """Entails what the case says."""

    name, batch = "scripted", 1

    def __init__(self, case: dict[str, Any]) -> None:
        both = {(str(a), str(b)) for a, b in case["equivalent"]}
        self.yes = both | {(b, a) for a, b in both} | {(str(a), str(b)) for a, b in case["one_way"]}

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        return [pair in self.yes for pair in pairs]


def clusters_of(case: dict[str, Any]) -> tuple[tuple[tuple[int, ...], ...], int]:
    bench = Bench(Scripted(case))
    return cluster([str(place) for place in range(case["answers"])], bench), bench.calls


def by_ids(ids: list[int]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(at for at, one in enumerate(ids) if one == name) for name in sorted(set(ids)))


@pytest.mark.parametrize("name", CASES)
def test_clusters_and_discrete_entropy_are_those_of_lm_polygraph(name: str) -> None:
    clusters, calls = clusters_of(CASES[name])
    assert [list(members) for members in clusters] == CASES[name]["lm_polygraph_classes"]
    assert discrete_entropy(clusters) == pytest.approx(CASES[name]["lm_polygraph_discrete"], abs=1e-12)
    assert calls < CASES[name]["lm_polygraph_all_pairs"]


@pytest.mark.parametrize("name", [name for name in CASES if name not in NOT_TRANSITIVE])
def test_clusters_are_those_of_the_authors_code_where_meaning_is_transitive(name: str) -> None:
    clusters, _ = clusters_of(CASES[name])
    assert clusters == by_ids(CASES[name]["jlko_ids"])
    assert discrete_entropy(clusters) == pytest.approx(CASES[name]["jlko_discrete"], abs=1e-12)


@pytest.mark.parametrize("name", NOT_TRANSITIVE)
def test_no_answer_is_stolen_by_a_later_cluster(name: str) -> None:
    """The authors' code moves an answer to the last cluster it fits; here it stays in the first."""
    clusters, _ = clusters_of(CASES[name])
    assert clusters != by_ids(CASES[name]["jlko_ids"])
    assert sum(len(members) for members in clusters) == CASES[name]["answers"]


@pytest.mark.parametrize("name", ["E6_oneway", "E7_entail_contra"])
def test_one_way_entailment_does_not_merge_as_it_does_in_uqlm(name: str) -> None:
    assert CASES[name]["uqlm_discrete"] == 0
    assert discrete_entropy(clusters_of(CASES[name])[0]) > 0.6


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name]["log_likelihoods"]])
def test_weighted_entropy_is_that_of_the_authors_code(name: str) -> None:
    clusters = by_ids(CASES[name]["jlko_ids"])
    found = weighted_entropy(clusters, CASES[name]["log_likelihoods"])
    assert found == pytest.approx(CASES[name]["jlko_weighted"], abs=1e-12)


def test_auroc_and_aurac_are_those_of_the_authors_code() -> None:
    stored = STORED["eval"]
    values, wrong = np.asarray(stored["u"]), np.asarray(stored["err"], dtype=bool)
    assert auroc(values, wrong) == pytest.approx(stored["auroc"], abs=1e-12)
    assert aurac(values, wrong) == pytest.approx(stored["aurac"], abs=1e-12)


@pytest.mark.parametrize("problem", PROBLEMS, ids=range(len(PROBLEMS)))
def test_conformal_quantiles_and_sets_are_those_of_mapie(problem: dict[str, Any]) -> None:
    scores = scores_of(problem["probabilities"], problem["labels"])
    calibrated = calibrate(scores, problem["alpha"])
    assert calibrated.quantile == pytest.approx(problem["mapie_quantile"], abs=1e-12)
    assert predict(calibrated, problem["new"]).astype(int).tolist() == problem["mapie_sets"]


@pytest.mark.parametrize("problem", PROBLEMS, ids=range(len(PROBLEMS)))
def test_conformal_sets_are_those_of_crepes(problem: dict[str, Any]) -> None:
    scores = scores_of(problem["probabilities"], problem["labels"])
    sets = predict(calibrate(scores, problem["alpha"]), problem["new"])
    assert sets.astype(int).tolist() == problem["crepes_sets"]


def test_five_different_answers_have_the_entropy_of_five() -> None:
    assert discrete_entropy(clusters_of(CASES["E4_diff5"])[0]) == pytest.approx(math.log(5), abs=1e-12)


RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", RECORDED["random"], ids=lambda case: f"{len(case['answers'])} answers")
def test_random_answers_have_the_entropy_that_lm_polygraph_gave_them(case: dict[str, Any]) -> None:
    found = discrete_entropy(meanings(case["answers"], Bench(Free())))
    assert found == pytest.approx(case["nats"], abs=1e-12)


@pytest.mark.parametrize("row", RECORDED["rows"], ids=lambda row: f"k = {row['k']}")
def test_the_recorded_race_is_one_between_equals_and_its_calls_are_those_of_today(
    row: dict[str, Any],
) -> None:
    judge = Free()
    found = discrete_entropy(meanings(answers(row["k"]), Bench(judge)))
    assert found == pytest.approx(row["their_entropy"], abs=1e-12)
    assert judge.asked == row["calls"] < row["their_calls"]
