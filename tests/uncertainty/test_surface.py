"""Measuring over HTTP's rows, the clients and the command line gives one answer everywhere."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import beliefd
from beliefd.kernel.claims.policy import UncertaintyPolicy
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.policy.files import load_policy
from beliefd.protocol.uncertainty import UncertaintyRows
from tests.cli.runner import answer
from tests.cli.runner import beliefd as command

PARIS = ["Paris", "It is Paris", "Lyon"]
EXAMPLE = UncertaintyRows.measure_conformal_set.example
CALIBRATION = EXAMPLE["calibration"]


def test_semantic_entropy_answers_with_the_contract_s_fields_and_the_clusters() -> None:
    with beliefd.open(":memory:") as embedded:
        found = embedded.measure_semantic_entropy(PARIS)
    assert (found.method, found.gate_recommendation) == ("semantic_entropy", "EXPLAIN")
    assert found.value == pytest.approx(0.579, abs=1e-3)
    assert found.clusters == [[0, 1], [2]]
    assert (found.measured, found.judge, found.labels) == (True, "lexical", None)


def test_asynchronous_callers_get_the_same() -> None:
    async def ask() -> Any:
        async with await beliefd.open_async(":memory:") as embedded:
            return [
                await embedded.measure_semantic_entropy(PARIS, token_logprobs=[[-0.1], [-0.2, -0.4], [-3.0]]),
                await embedded.measure_semantic_entropy(PARIS, kind="nearest_neighbour"),
                await embedded.measure_model_disagreement(["yes", "no", "maybe"]),
                await embedded.measure_confidence(0.9),
                await embedded.measure_conformal_set([0.7, 0.2, 0.1], CALIBRATION, alpha=0.2),
            ]

    with beliefd.open(":memory:") as embedded:
        assert asyncio.run(ask()) == [
            embedded.measure_semantic_entropy(PARIS, token_logprobs=[[-0.1], [-0.2, -0.4], [-3.0]]),
            embedded.measure_semantic_entropy(PARIS, kind="nearest_neighbour"),
            embedded.measure_model_disagreement(["yes", "no", "maybe"]),
            embedded.measure_confidence(0.9),
            embedded.measure_conformal_set([0.7, 0.2, 0.1], CALIBRATION, alpha=0.2),
        ]


def test_the_recommendation_follows_the_policy_in_force() -> None:
    strict = Policy(uncertainty=UncertaintyPolicy(explain_above=0.1, defer_above=0.2))
    with beliefd.open(":memory:", policy=strict) as embedded:
        assert embedded.measure_semantic_entropy(PARIS).gate_recommendation == "DEFER"


def test_labelled_answers_calibrate_a_confidence() -> None:
    labelled = {"confidences": [0.9] * 40, "correct": [True, False] * 20, "kind": "isotonic"}
    with beliefd.open(":memory:") as embedded:
        assert embedded.measure_confidence(0.9, calibration=labelled).value == pytest.approx(0.5)


def test_drift_is_told_beside_the_set() -> None:
    rows = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]] * 40
    with beliefd.open(":memory:") as embedded:
        found = embedded.measure_conformal_set(
            [0.6, 0.4], {"probabilities": rows, "labels": [0] * 120}, recent=[0.95] * 100
        )
    assert found.warning is not None


@pytest.mark.parametrize(
    ("operation", "body", "path"),
    [
        ("semantic_entropy", {"answers": ["", ""]}, "$.answers"),
        ("semantic_entropy", {"answers": ["Paris"]}, "$.answers"),
        ("semantic_entropy", {"answers": PARIS, "judge": "oracle"}, "$.judge"),
        ("semantic_entropy", {"answers": PARIS, "token_logprobs": [[-0.1]]}, "$.token_logprobs"),
        ("model_disagreement", {"answers": []}, "$.answers"),
        ("confidence_score", {}, "$.confidence"),
        ("confidence_score", {"token_logprobs": [0.5]}, "$.token_logprobs[0]"),
        ("conformal_set", {**EXAMPLE, "alpha": 0.01}, "$.calibration"),
        (
            "conformal_set",
            {**EXAMPLE, "probabilities": [0.9, 0.9, 0.9]},
            "$.probabilities[0]",
        ),
        (
            "conformal_set",
            {**EXAMPLE, "probabilities": [0.5, 0.5]},
            "$.probabilities",
        ),
    ],
)
def test_bad_material_is_refused_with_its_path(operation: str, body: Any, path: str) -> None:
    result = command("uncertainty", "measure", operation, "-", "--json", stdin=json.dumps(body))
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert error["code"] == "INVALID_REQUEST"
    assert error["details"]["path"] == path


def test_the_command_line_measures_and_exits_3_where_a_person_should_look() -> None:
    body = json.dumps({"answers": ["yes", "no", "maybe"]})
    found = answer("uncertainty", "measure", "model_disagreement", "-", stdin=body, code=3)
    assert found["value"] == 1
    shown = command("uncertainty", "measure", "semantic_entropy", "-", stdin=json.dumps({"answers": PARIS}))
    assert "clusters [0, 1] [2]" in shown.stdout


def test_every_example_set_is_where_one_would_expect_it() -> None:
    found = {one["name"]: one for one in answer("uncertainty", "examples")}
    assert len(found) == 12
    sure = ["one answer, three times", "bare and in a sentence", "paraphrases", "one quantity, three units"]
    for name in sure:
        assert found[name]["semantic_entropy"] == found[name]["model_disagreement"] == 0
    for name in ["opposite directions", "with and without not", "yes, no, maybe", "who bites whom"]:
        assert found[name]["semantic_entropy"] == found[name]["model_disagreement"] == 1
    for name in ["one dissent", "one dissent in sentences", "neighbouring years"]:
        assert 0.4 < found[name]["semantic_entropy"] < 0.8
    assert "yes, no, maybe" in command("uncertainty", "examples").stdout


def labelled(path: Path, wrong_from: int = 30) -> Path:
    """Sixty questions: the answers agree on the first half and differ on the second."""
    rows = [
        {"answers": ["Paris"] * 5 if place < 30 else ["Rome", "Oslo", "Lima", "Cairo", "Quito"],
         "wrong": place >= wrong_from}
        for place in range(60)
    ]  # fmt: skip
    path.write_text(json.dumps(rows * 4))
    return path


def test_an_evaluation_tells_wrong_from_right_and_writes_a_certified_threshold(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("evidence:\n  min_confidence: 0.7\n")
    found = answer("uncertainty", "evaluate", labelled(tmp_path / "data.json"), "--write-policy", policy)
    assert {one["method"]: one["auroc"]["value"] for one in found["scores"]}["semantic_entropy"] == 1
    written = load_policy(policy)
    assert written.evidence.min_confidence == 0.7
    assert written.uncertainty.defer_above < 1
    shown = command("uncertainty", "evaluate", tmp_path / "data.json").stdout
    assert "1.000 [1.000, 1.000]" in shown
    assert "wrong among them" in shown


def test_no_threshold_is_written_where_none_is_certified(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    data = labelled(tmp_path / "data.json", wrong_from=5)
    result = command("uncertainty", "evaluate", data, "--risk", "0.01", "--write-policy", policy)
    assert result.exit_code == 4
    assert "no threshold certifies this" in result.output
    assert not policy.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "at least 20 questions"),
        (json.dumps([{"question": "?"}] * 30), "a question has"),
        (json.dumps([{"answers": ["a", "b"], "wrong": True}] * 30), "nothing can be told apart"),
    ],
)
def test_a_file_that_cannot_be_evaluated_says_why(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "data.json"
    path.write_text(text)
    result = command("uncertainty", "evaluate", path)
    assert result.exit_code == 2
    assert message in result.output


def test_sampled_answers_are_judged_by_their_reference_and_systems_by_their_judges(tmp_path: Path) -> None:
    samples = [
        {"samples": ["Paris", "Paris", ""], "answer": "Paris"},
        {"samples": ["a", "b", "c"], "answer": "x"},
    ]
    systems = [
        {"answer_one": "Paris", "judge_one": True, "answer_two": "It is Paris", "judge_two": True},
        {"answer_one": "Rome", "judge_one": False, "answer_two": "Oslo", "judge_two": False},
        {"answer_one": "?", "judge_one": "nan", "answer_two": "?", "judge_two": "nan", "improper": True},
    ]
    for name, rows, count in (("samples", samples, 40), ("systems", systems, 40)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(rows * 20))
        found = answer("uncertainty", "evaluate", path)
        assert (found["questions"], found["wrong"]) == (count, 0.5)
        assert all(one["auroc"]["value"] == 1 for one in found["scores"])


def test_an_error_of_measuring_is_an_error_answer() -> None:
    with beliefd.open(":memory:") as embedded, pytest.raises(BeliefdError) as raised:
        embedded.measure_model_disagreement(["", " "])
    assert raised.value.code is Code.INVALID_REQUEST
