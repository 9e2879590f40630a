"""The labelled pairs, their halves, and what the judges make of them."""

import math
from collections import Counter

import pytest

from beliefd.kernel.errors import BeliefdError
from beliefd.uncertainty.equivalence.embedding import EmbeddingJudge
from beliefd.uncertainty.equivalence.lexical import LexicalJudge
from beliefd.uncertainty.evaluation_judges import ALL, JudgeReport, labelled_pairs, measure_judges
from beliefd.uncertainty.scoring import wilson
from tests.cli.runner import answer
from tests.cli.runner import beliefd as command
from tests.uncertainty.judges import Fails

PAIRS = labelled_pairs()


def totals(report: JudgeReport) -> dict[str, tuple[int, float]]:
    """How many differences were merged, and the share of paraphrases that was split."""
    return {
        one.judge: (one.merged.wrong, one.split.share.value) for one in report.scores if one.category == ALL
    }


def test_there_are_enough_pairs_in_twelve_categories_about_half_of_them_the_same() -> None:
    assert len(PAIRS) > 400
    assert len({(pair.a, pair.b) for pair in PAIRS}) == len(PAIRS)
    counted = Counter((pair.category, pair.same) for pair in PAIRS)
    assert len(counted) == 24
    assert min(counted.values()) >= 18
    assert 0.45 < sum(pair.same for pair in PAIRS) / len(PAIRS) < 0.55


def test_the_halves_are_fixed_by_the_pairs_alone() -> None:
    halves = Counter(pair.half for pair in PAIRS)
    assert halves == {"development": 272, "test": 228}


@pytest.mark.parametrize("half", ["development", "test"])
def test_no_difference_is_merged_and_few_paraphrases_are_split(half: str) -> None:
    found = totals(measure_judges([LexicalJudge(), EmbeddingJudge()], half))  # type: ignore[arg-type]
    assert found["lexical"][0] == found["embedding"][0] == 0
    assert found["lexical"][1] <= 0.3
    assert found["embedding"][1] <= 0.1


def test_the_command_measures_the_development_half_unless_it_is_asked_for_the_other() -> None:
    found = answer("uncertainty", "judges", "--judge", "lexical")
    assert (found["half"], found["pairs"]) == ("development", 272)
    wrong = sum(one["merged"]["wrong"] + one["split"]["wrong"] for one in found["scores"][:-1])
    assert wrong == len(found["wrong"])
    held = answer("uncertainty", "judges", "--judge", "lexical", "--test")
    assert (held["half"], held["wrong"]) == ("test", [])
    shown = command("uncertainty", "judges", "--judge", "lexical").output
    assert "272 labelled pairs, development half" in shown
    assert "hidden negation" in shown


def test_a_judge_that_fails_is_told() -> None:
    with pytest.raises(BeliefdError, match="cannot be judged: judge `fails` raised RuntimeError"):
        measure_judges([Fails(RuntimeError())], "development")


def test_wilson_has_the_published_interval_and_never_leaves_the_unit() -> None:
    found = wilson(1, 10)
    assert math.isclose(found.low, 0.0179, abs_tol=1e-4)
    assert math.isclose(found.high, 0.4042, abs_tol=1e-4)
    assert (wilson(0, 5).low, wilson(5, 5).high, wilson(0, 0).high) == (0, 1, 1)
