"""What is remembered of answers is bounded in characters: long ones take more room than short ones."""

import tracemalloc
from collections.abc import Iterator

import pytest

from beliefd.uncertainty.equivalence import kept
from beliefd.uncertainty.equivalence.contradiction import _contradicts
from beliefd.uncertainty.equivalence.lexical import LexicalJudge
from beliefd.uncertainty.equivalence.port import Bench
from beliefd.uncertainty.equivalence.reading import read
from beliefd.uncertainty.equivalence.tokens import _chunk
from beliefd.uncertainty.model_disagreement import model_disagreement
from beliefd.uncertainty.semantic_entropy import semantic_entropy

FEW = 2_000


@pytest.fixture(autouse=True)
def few_characters(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(kept, "KEPT_CHARACTERS", 0)
    read("the disk is full")
    kept.forget_much()
    monkeypatch.setattr(kept, "KEPT_CHARACTERS", FEW)
    yield
    monkeypatch.undo()


def answers(number: int) -> list[str]:
    """Ten that nobody has seen before, of some 400 characters each."""
    return [f"disk{number}x{one} is full. " * 20 + "so it is" for one in range(10)]


@pytest.mark.parametrize("measure", [semantic_entropy, model_disagreement])
def test_what_one_measurement_read_is_forgotten_when_the_next_begins(measure: object) -> None:
    for number in range(4):
        measure(answers(number))  # type: ignore[operator]
        assert read.cache_info().currsize <= 10, "those of this one"
        assert _contradicts.cache_info().currsize <= 45
        assert _chunk.cache_info().currsize <= 40


def test_memory_does_not_grow_with_the_measurements() -> None:
    def held_after(numbers: range) -> int:
        for number in numbers:
            semantic_entropy(answers(number))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        first = held_after(range(2))
        assert held_after(range(2, 12)) < 2 * first
    finally:
        tracemalloc.stop()


def test_few_characters_are_kept_and_within_a_measurement_all_are() -> None:
    read("the disk is full")
    bench = Bench(LexicalJudge())
    for answer in answers(0):
        bench.entails(answer, "the disk is full")
    assert read.cache_info().currsize == 11
    Bench(LexicalJudge())
    assert read.cache_info().currsize == 0
