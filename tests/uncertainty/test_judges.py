"""Judges by name: each can be asked for everywhere, and says what it lacks."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import beliefd
from beliefd.cli.views import uncertainty as uncertainty_views
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.values import JudgeName
from beliefd.uncertainty.equivalence.judges import NAMES, Judges, JudgeSettings
from beliefd.uncertainty.equivalence.nli import NLIJudge, entailment_label
from beliefd.uncertainty.evaluation import Item, measure
from beliefd.uncertainty.examples import table
from tests.cli.runner import answer
from tests.cli.runner import beliefd as command
from tests.support.server import server_process
from tests.uncertainty.judges import Fails
from tests.uncertainty.nli_model import write_model

PARAPHRASES = ["He weighs 80 kg.", "His weight is 80 kilograms."]
TORN = ["it helps", "it does not help", "perhaps it helps"]


def test_a_cross_encoder_in_onnx_is_loaded_from_its_directory_and_asked_in_batches(tmp_path: Path) -> None:
    judge = NLIJudge(write_model(tmp_path / "tiny"))
    assert judge.name == "nli:tiny"
    pairs = [("a b", "c"), ("a not b", "c"), ("perhaps", "c"), ("a", "not b c d e f")]
    assert judge.entails_all(pairs) == [True, False, False, False]
    assert [judge.entails_all([pair])[0] for pair in pairs] == judge.entails_all(pairs)


def test_an_nli_judge_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BeliefdError, match="no model in"):
        NLIJudge(tmp_path / "nowhere")
    with pytest.raises(BeliefdError, match=r"there is no `config\.json`"):
        NLIJudge(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BeliefdError, match="does not say in `id2label`"):
        NLIJudge(tmp_path)
    with pytest.raises(BeliefdError, match="no label called `entailment`"):
        NLIJudge(write_model(tmp_path / "two", {"0": "LABEL_0", "1": "LABEL_1"}))
    assert entailment_label({0: "contradiction", 1: "Entailment", 2: "neutral"}) == 1


def test_a_directory_without_onnx_needs_transformers_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_model(tmp_path / "torch")
    (path / "model.onnx").unlink()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        BeliefdError, match=r"`torch` is not installed; `pip install 'beliefd\[transformers\]'`"
    ):
        NLIJudge(path)


@pytest.mark.parametrize(
    ("name", "settings", "lacks"),
    [
        ("nli", {}, "`nli_model` is not set; give --nli-model or BELIEFD_NLI_MODEL"),
        ("llm", {}, "`llm_url` is not set; give --llm-url or BELIEFD_LLM_URL"),
        ("llm", {"llm_url": "http://127.0.0.1:1/v1"}, "`llm_model` is not set; give --llm-model"),
        ("embedding", {"embedding_model": Path("nowhere")}, "there is no `model.onnx` in `nowhere`"),
    ],
)
def test_a_judge_that_is_not_configured_is_an_error_that_names_the_setting(
    name: JudgeName, settings: dict[str, Any], lacks: str
) -> None:
    with beliefd.open(":memory:", judges=JudgeSettings(**settings)) as embedded:
        for measure in (embedded.measure_semantic_entropy, embedded.measure_model_disagreement):
            with pytest.raises(BeliefdError) as raised:
                measure(PARAPHRASES, judge=name)
            assert raised.value.message.startswith(f"the judge `{name}` cannot be asked: {lacks}")
            assert raised.value.details == {"path": "$.judge"}


def test_a_judge_is_made_once() -> None:
    judges = Judges()
    assert judges.named("embedding") is judges.named("embedding")
    assert judges.named("lexical").name == "lexical"


def test_the_judge_decides_what_is_measured_here_and_for_asynchronous_callers(tmp_path: Path) -> None:
    settings = JudgeSettings(nli_model=write_model(tmp_path / "tiny"))

    async def ask() -> list[Any]:
        async with await beliefd.open_async(":memory:", judges=settings) as opened:
            return [
                await opened.measure_semantic_entropy(PARAPHRASES, judge="embedding"),
                await opened.measure_model_disagreement(TORN, judge="nli"),
            ]

    with beliefd.open(":memory:", judges=settings) as embedded:
        assert embedded.measure_semantic_entropy(PARAPHRASES).value == 1
        found = embedded.measure_semantic_entropy(PARAPHRASES, judge="embedding")
        assert (found.value, found.judge) == (0, "embedding")
        torn = embedded.measure_model_disagreement(TORN, judge="nli")
        assert (torn.value, torn.judge) == (1, "nli:tiny")
    assert asyncio.run(ask()) == [found, torn]


def test_nearest_neighbour_entropy_asks_no_judge() -> None:
    with beliefd.open(":memory:") as embedded, pytest.raises(BeliefdError, match="asks no judge"):
        embedded.measure_semantic_entropy(PARAPHRASES, kind="nearest_neighbour", judge="embedding")


def test_a_server_takes_its_judges_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELIEFD_NLI_MODEL", str(write_model(tmp_path / "tiny")))
    with server_process(tmp_path / "data") as server, beliefd.Client(server.url) as client:
        assert client.measure_semantic_entropy(TORN, judge="nli").judge == "nli:tiny"
        with pytest.raises(BeliefdError, match="`llm_url` is not set"):
            client.measure_semantic_entropy(TORN, judge="llm")


def test_the_command_line_asks_the_judge_that_is_named(tmp_path: Path) -> None:
    body = json.dumps({"answers": TORN})
    model = write_model(tmp_path / "tiny")
    asked = ("uncertainty", "measure", "semantic_entropy", "-", "--judge", "nli", "--nli-model", model)
    assert answer(*asked, stdin=body, code=3)["judge"] == "nli:tiny"
    refused = command("uncertainty", "examples", "--judge", "nli")
    assert refused.exit_code == 2
    assert "give --nli-model or BELIEFD_NLI_MODEL" in refused.output
    for name in NAMES[:2]:
        found = answer("uncertainty", "examples", "--judge", name)
        assert next(one for one in found if one["name"] == "opposite directions")["semantic_entropy"] == 1


@pytest.mark.parametrize(("name", "most"), [("nli", 100), ("llm", 20)])
def test_a_judge_that_costs_compares_no_more_answers_than_agreed(name: JudgeName, most: int) -> None:
    answers = [f"answer {place}" for place in range(most + 1)]
    with beliefd.open(":memory:") as embedded, pytest.raises(BeliefdError) as raised:
        embedded.measure_semantic_entropy(answers, judge=name)
    assert raised.value.message == f"the judge `{name}` compares at most {most} answers"


def test_a_judge_that_fails_is_told_and_not_shown_as_a_value() -> None:
    judge = Fails(RuntimeError())
    items = [Item(("Rome", "Rome"), wrong=False), Item(("Rome", "Oslo"), wrong=True)]
    with pytest.raises(BeliefdError, match="question 1 cannot be measured: judge `fails` raised") as raised:
        list(measure(items, judge))
    assert raised.value.details == {"path": "$[1]"}
    found = {one.name: one for one in table(judge)}
    assert found["one answer, three times"].measured
    assert not found["opposite directions"].measured
    shown = Console(width=120)
    with shown.capture() as captured:
        shown.print(uncertainty_views.examples(list(found.values())))
    assert captured.get().count("not measured") == 2 * sum(not one.measured for one in found.values())


def test_an_evaluation_takes_a_judge(tmp_path: Path) -> None:
    rows = [{"answers": PARAPHRASES, "wrong": False}, {"answers": ["Rome", "Oslo"], "wrong": True}] * 20
    (tmp_path / "data.json").write_text(json.dumps(rows))
    for judge, expected in (("lexical", 0.5), ("embedding", 1.0)):
        found = answer("uncertainty", "evaluate", tmp_path / "data.json", "--judge", judge)
        values = {one["method"]: one["auroc"]["value"] for one in found["scores"]}
        assert values["semantic_entropy"] == expected
    assert values["model_disagreement"] == 1.0
