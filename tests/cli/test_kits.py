"""Kits are data, and a kit that loads cannot mislead."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beliefd import kits
from beliefd.documents import read_document
from beliefd.kernel.errors import BeliefdError

FOLDER = Path(__file__).parents[2] / "examples" / "kits"


def test_both_kits_are_found_by_name_and_are_large_enough() -> None:
    assert kits.names() == ["sre_incident", "twenty_questions"]
    incident, questions = (kits.load(name) for name in kits.names())
    assert len(incident.hypotheses) >= 8
    assert len(questions.hypotheses) >= 24
    assert len(questions.probes) >= 12


@pytest.mark.parametrize("name", ["sre_incident", "twenty_questions"])
def test_every_cause_is_found_and_never_eliminated_on_the_way(name: str) -> None:
    kit = kits.load(FOLDER / f"{name}.yaml")
    for cause in kit.hypotheses:
        left = set(kit.hypotheses)
        for probe in kit.probes:
            left -= set(kit.eliminated(probe, kit.seen(probe, cause)))
            assert cause in left
        assert left == {cause}


def test_every_outcome_says_why() -> None:
    for name in kits.names():
        for probe in kits.load(name).probes:
            assert all(len(outcome.because) > 5 for outcome in probe.outcomes.values())


def small() -> dict[str, Any]:
    """A kit with nothing in it that could be left out."""
    return {
        "kit": "k",
        "version": "1",
        "title": "t",
        "story": "s",
        "causal_graph_ref": "g",
        "causal_graph_version": "1",
        "hypotheses": {"a": "first", "b": "second"},
        "probes": [
            {
                "id": "p",
                "ask": "which?",
                "source": "tool://x",
                "outcomes": {
                    "left": {"seen_under": ["a"], "eliminates": ["b"], "because": "it is left"},
                    "right": {"eliminates": "others", "because": "it is right"},
                },
            }
        ],
        "obligation": {"id": "o", "min_total_eliminations": 1, "why": "because"},
        "tempting": "b",
        "truth": "a",
        "conclusion": "it_is:{hypothesis}",
    }


def outcomes(kit: dict[str, Any]) -> dict[Any, Any]:
    found: dict[Any, Any] = kit["probes"][0]["outcomes"]
    return found


Change = Callable[[dict[str, Any]], object]

BROKEN: dict[str, tuple[Change, str]] = {
    "undeclared elimination": (
        lambda kit: outcomes(kit)["left"].update(eliminates=["z"]),
        "$.probes[0].outcomes.left.eliminates",
    ),
    "undeclared cause": (
        lambda kit: outcomes(kit)["left"].update(seen_under=["z"]),
        "$.probes[0].outcomes.left.seen_under",
    ),
    "the truth eliminated": (
        lambda kit: outcomes(kit)["left"].update(eliminates=["a"]),
        "$.probes[0].outcomes.left.eliminates",
    ),
    "causes that nothing tells apart": (
        lambda kit: outcomes(kit)["left"].update(eliminates=[]),
        "$.hypotheses.a",
    ),
    "a cause with two outcomes": (
        lambda kit: outcomes(kit)["right"].update(seen_under=["a", "b"]),
        "$.probes[0].outcomes.right.seen_under",
    ),
    "a cause with no outcome": (
        lambda kit: (
            kit.update(hypotheses={"a": "", "b": "", "c": ""})
            or outcomes(kit)["right"].update(seen_under=["b"])
        ),
        "$.probes[0].outcomes",
    ),
    "two outcomes for all the rest": (
        lambda kit: outcomes(kit)["left"].pop("seen_under"),
        "$.probes[0].outcomes",
    ),
    "a probe that is there twice": (lambda kit: kit["probes"].append(kit["probes"][0]), "$.probes[1].id"),
    "an undeclared truth": (lambda kit: kit.update(truth="z"), "$.truth"),
    "an undeclared temptation": (lambda kit: kit.update(tempting="z"), "$.tempting"),
    "a conclusion about nothing": (lambda kit: kit.update(conclusion="done"), "$.conclusion"),
    "an obligation that cannot be met": (
        lambda kit: kit["obligation"].update(min_total_eliminations=2),
        "$.obligation.min_total_eliminations",
    ),
    "an unknown field": (lambda kit: kit.update(hue="red"), "$.hue"),
    "a missing field": (lambda kit: kit.pop("story"), "$.story"),
    "an unquoted yes": (lambda kit: outcomes(kit).update({True: outcomes(kit).pop("left")}), "outcomes"),
}


def test_a_small_kit_is_fine() -> None:
    assert kits.check(small()).concluded("a") == "it_is:a"


@pytest.mark.parametrize("defect", BROKEN)
def test_a_kit_with_a_defect_is_refused_with_its_place(defect: str) -> None:
    change, path = BROKEN[defect]
    broken = copy.deepcopy(small())
    change(broken)
    with pytest.raises(BeliefdError) as raised:
        kits.check(broken)
    assert path in str((raised.value.details or {})["path"])


def test_an_unquoted_no_is_explained(tmp_path: Path) -> None:
    text = (FOLDER / "twenty_questions.yaml").read_text().replace('"no":', "no:")
    path = tmp_path / "kit.yaml"
    path.write_text(text)
    with pytest.raises(BeliefdError, match="put them in quotes"):
        kits.load(path)


def test_an_unknown_kit_is_answered_with_those_there_are() -> None:
    with pytest.raises(BeliefdError, match="`sre_incident`, `twenty_questions`"):
        kits.load("chess")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BeliefdError, match=r"nothing\.yaml"):
        read_document(tmp_path / "nothing.yaml")
