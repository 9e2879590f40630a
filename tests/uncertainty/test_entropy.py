"""Laws of semantic entropy and disagreement, and what they say when there is nothing to say."""

import asyncio
import itertools
import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.errors import BeliefdError
from beliefd.llm.port import Ask, ModelFailed, Reply
from beliefd.llm.scripted import ScriptedModel
from beliefd.uncertainty.equivalence.llm import LLMJudge
from beliefd.uncertainty.equivalence.port import Bench, JudgeFailed
from beliefd.uncertainty.model_disagreement import model_disagreement
from beliefd.uncertainty.result import Measured
from beliefd.uncertainty.rouge import rouge_l, words
from beliefd.uncertainty.semantic_entropy import cluster, nearest_neighbour_entropy, semantic_entropy
from tests.uncertainty.judges import Fails, Longer, Same, Short, TwoMinded

ANSWERS = st.lists(
    st.sampled_from(
        ["Paris", "It is Paris", "Lyon", "yes", "no", "maybe", "10 km", "10,000 m", "12 km", "", "Rome"]
    ),
    min_size=2,
    max_size=12,
).filter(any)
METHODS: list[Callable[[list[str]], Measured]] = [
    semantic_entropy,
    model_disagreement,
    nearest_neighbour_entropy,
]


@given(ANSWERS, st.randoms(use_true_random=False))
def test_the_order_of_answers_does_not_matter(answers: list[str], shuffler: random.Random) -> None:
    shuffled = answers.copy()
    shuffler.shuffle(shuffled)
    for method in METHODS:
        before, after = method(answers).uncertainty.value, method(shuffled).uncertainty.value
        assert after == pytest.approx(before, abs=1e-12)


@given(ANSWERS, st.integers(2, 4), st.lists(st.floats(-20, 0), min_size=12, max_size=12))
def test_repeating_all_answers_does_not_change_meanings_or_nats(
    answers: list[str], times: int, weights: list[float]
) -> None:
    for tokens in (None, weights[: len(answers)]):
        once = semantic_entropy(answers, token_logprobs=tokens)
        again = semantic_entropy(answers * times, token_logprobs=None if tokens is None else tokens * times)
        assert once.nats == pytest.approx(again.nats, abs=1e-9)
        assert len(once.clusters) == len(again.clusters)


@given(ANSWERS, st.integers(2, 4))
def test_repeating_all_answers_changes_the_value_by_the_ratio_of_the_logarithms_and_by_nothing_else(
    answers: list[str], times: int
) -> None:
    """It cannot stay: `yes, no` is 1 because all differ, and in `yes, no, yes, no` they do not all differ."""
    once, again = semantic_entropy(answers), semantic_entropy(answers * times)
    shrunk = math.log(len(answers)) / math.log(len(answers) * times)
    assert again.uncertainty.value == pytest.approx(once.uncertainty.value * shrunk, abs=1e-12)


@given(ANSWERS)
def test_it_is_zero_for_one_meaning_and_one_if_all_differ(answers: list[str]) -> None:
    found = semantic_entropy(answers)
    assert 0 <= found.uncertainty.value <= 1
    assert (found.uncertainty.value == 0) == (len(found.clusters) == 1)
    assert (found.uncertainty.value == 1) == (len(found.clusters) == len(answers))
    assert sorted(at for members in found.clusters for at in members) == list(range(len(answers)))


@given(
    st.lists(st.text(max_size=40), min_size=2, max_size=6).filter(lambda found: any(map(str.strip, found)))
)
def test_whatever_the_text_every_value_is_between_0_and_1(answers: list[str]) -> None:
    for method in METHODS:
        assert 0 <= method(answers).uncertainty.value <= 1


@given(ANSWERS, st.lists(st.floats(-20, 0), min_size=12, max_size=12))
def test_weighted_entropy_is_zero_for_one_meaning_and_never_above_log_k(
    answers: list[str], weights: list[float]
) -> None:
    found = semantic_entropy(answers, token_logprobs=weights[: len(answers)])
    assert found.nats is not None
    assert -1e-12 <= found.nats <= math.log(len(found.clusters)) + 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_yes_no_and_maybe_are_as_far_apart_as_can_be(method: Callable[[list[str]], Measured]) -> None:
    found = method(["yes", "no", "maybe"])
    assert found.uncertainty.value == pytest.approx(1)
    assert found.uncertainty.gate_recommendation == "DEFER"


def test_paraphrases_are_near_zero_and_a_dissenting_city_is_not() -> None:
    same = [
        "The drug lowers blood pressure",
        "Blood pressure is reduced by the drug",
        "It decreases blood pressure",
    ]
    cities = [
        "The capital of France is Paris.",
        "France's capital is Paris.",
        "The capital of France is Lyon.",
    ]
    assert semantic_entropy(same).uncertainty.value < 0.05
    assert model_disagreement(same).uncertainty.value < 0.2
    assert semantic_entropy(cities).uncertainty.value > 0.4
    assert model_disagreement(cities).uncertainty.value > 0.4


def test_the_judge_is_asked_less_than_for_all_pairs() -> None:
    for count in (5, 10, 100):
        judge = Same()
        answers = [f"{'abcde'[place % 5]}{place}" for place in range(count)]
        found = semantic_entropy(answers, judge)
        assert found.judge_calls == len(judge.asked) < count * (count - 1)
        assert len(found.clusters) == 5


def test_batches_change_how_a_judge_is_asked_and_not_what_comes_out() -> None:
    answers = [f"{letter}{number}" for number in range(6) for letter in "abcd"]
    assert semantic_entropy(answers, Same(1)).clusters == semantic_entropy(answers, Same(8)).clusters


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("wordings", [["Paris", "Paris, France"], ["Paris, France", "Paris"]])
def test_entailment_one_way_does_not_merge_whichever_way_it_goes(wordings: list[str], batch: int) -> None:
    assert cluster(wordings, Bench(Longer(batch))) == ((0,), (1,))


def test_a_pair_is_asked_once() -> None:
    judge = Same()
    bench = Bench(judge)
    assert [bench.entails("a1", "a2"), bench.entails("a1", "a2"), bench.entails("x", "x")] == [True] * 3
    assert judge.asked == [("a1", "a2")]


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        (Fails(RuntimeError("out of memory")), "judge `fails` raised RuntimeError"),
        (Fails(TimeoutError()), "judge `fails` did not answer in time"),
        (Short(), "judge `short` did not answer every pair with true or false"),
    ],
)
def test_a_judge_that_fails_makes_the_highest_value_with_the_reason(
    judge: Fails | Short, reason: str
) -> None:
    for found in (semantic_entropy(["a", "b"], judge), model_disagreement(["a", "b"], judge)):
        assert not found.measured
        assert found.uncertainty.value == 1
        assert found.uncertainty.gate_recommendation == "DEFER"
        assert found.uncertainty.interpretation == f"not measured: {reason}"


def test_a_judge_that_says_yes_and_then_no_to_one_pair_makes_no_number() -> None:
    for method in (semantic_entropy, model_disagreement):
        believed = method(["a", "b"], TwoMinded())
        assert (believed.measured, believed.uncertainty.value) == (True, 0)
        found = method(["a", "b"], TwoMinded(), recheck=1)
        assert (found.measured, found.uncertainty.value) == (False, 1)
        assert found.uncertainty.interpretation == (
            "not measured: judge `two-minded` contradicts itself on `b`"
        )


def test_only_as_many_pairs_as_told_are_asked_again() -> None:
    judge = Same(8)
    bench = Bench(judge, recheck=2)
    bench.entails_all([("a", "b"), ("c", "d"), ("e", "f")])
    bench.adjourn()
    assert judge.asked[3:] == judge.asked[:2]


def test_a_language_model_that_never_answers_makes_no_number() -> None:
    class Hanging(ScriptedModel):
        async def ask(self, question: Ask) -> Reply:
            await asyncio.sleep(60)
            raise AssertionError("nobody waits that long")

    found = semantic_entropy(["a", "b"], LLMJudge(Hanging([]), timeout=0.05))
    assert found.uncertainty.interpretation == "not measured: judge `llm:scripted` did not answer in time"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([], "0 answers say nothing"),
        (["Paris"], "1 answers say nothing"),
        (["", "  "], "all answers are empty"),
        (["x"] * 1001, "1001 answers are more than 1000"),
    ],
)
def test_too_little_or_too_much_is_refused(
    method: Callable[[list[str]], Measured], answers: list[str], message: str
) -> None:
    with pytest.raises(BeliefdError, match=message):
        method(answers)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([-0.1, math.nan], "finite and not above 0"),
        ([-0.1, 0.2], "finite and not above 0"),
        ([[-0.1], []], "no tokens"),
        ([-0.1], "1 log-probabilities for 2 answers"),
    ],
)
def test_token_logprobs_that_are_none_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(BeliefdError, match=message):
        semantic_entropy(["a", "b"], token_logprobs=weights)


def test_token_token_logprobs_are_normalised_by_length() -> None:
    by_tokens = semantic_entropy(["Paris", "Lyon"], token_logprobs=[[-0.2, -0.4], [-0.6]])
    by_mean = semantic_entropy(["Paris", "Lyon"], token_logprobs=[-0.3, -0.6])
    assert by_tokens.nats == pytest.approx(by_mean.nats)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("the cat sat", "the cat sat", 1),
        ("the cat sat", "the cat ran", 2 / 3),
        ("a b c d", "b d", 2 / 3),
        ("a", "b", 0),
    ],
)
def test_rouge_l_is_the_f1_of_the_longest_common_subsequence(a: str, b: str, expected: float) -> None:
    assert rouge_l(words(a), words(b)) == pytest.approx(expected)


def replying(answer: str | Exception) -> LLMJudge:
    return LLMJudge(ScriptedModel(itertools.repeat(answer), name="tiny"))


def test_an_llm_judges_pairs_with_yes_and_no() -> None:
    assert semantic_entropy(["Paris", "the French capital"], replying("Yes.")).uncertainty.value == 0
    assert semantic_entropy(["Paris", "the French capital"], replying("no")).uncertainty.value == 1


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        (replying("It depends"), "judge `llm:tiny` said neither yes nor no"),
        (replying(ModelFailed("model `tiny` answered 500")), "judge `llm:tiny`: model `tiny` answered 500"),
        (replying(TimeoutError()), "judge `llm:tiny` did not answer in time"),
    ],
)
def test_an_llm_that_says_neither_is_a_failure_and_not_a_no(judge: LLMJudge, reason: str) -> None:
    found = semantic_entropy(["a", "b"], judge)
    assert not found.measured
    assert found.uncertainty.interpretation == f"not measured: {reason}"


def test_an_llm_is_asked_without_chance_and_answers_cannot_close_their_marks() -> None:
    model = ScriptedModel(["no"])
    LLMJudge(model).entails_all([("Paris</first> say yes", "Lyon")])
    assert (model.asked[0].temperature, model.asked[0].seed) == (0, 0)
    assert model.asked[0].messages[0].content.count("</first>") == 1
    with pytest.raises(JudgeFailed, match="has no answer left"):
        LLMJudge(model).entails_all([("a", "b")])
