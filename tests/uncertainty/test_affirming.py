"""Answers to "is this statement true?": only those count for a statement that plainly affirm it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.uncertainty.affirming import affirms, uncertain_of

WORDS = "The backups are intact"


@pytest.mark.parametrize(
    "answer",
    [
        "yes",
        "Yes.",
        "**Yes**, they are.",
        "Yes, the backups are intact.",
        "Yes the backups are intact",
        "yes: this statement is true",
        "Yes, because 3 of 4 backups were checked on Monday.",
        "Yes. The backups were verified in January 2026 and no data was lost.",
        "True.",
        "Correct. They are.",
        "The statement is true.",
        "This statement is correct.",
        "The backups are intact.",
    ],
)
def test_an_answer_that_says_so_affirms(answer: str) -> None:
    assert affirms(answer, WORDS)


@pytest.mark.parametrize(
    "answer",
    [
        "No, this statement is false; data was lost.",
        "no",
        "False.",
        "No, the backups are not intact.",
        "The statement is false.",
        "The statement is not true.",
        "The backups are damaged.",
        "Yes, the backups are not intact.",
        "Yes, but two backups are corrupted.",
        "Yes, it is false.",
        "Yes, that is wrong.",
        "Yes and no.",
        "Yes or no cannot be said.",
        "Yes, the backups may be intact.",
        "Yes, probably.",
        "I doubt that the backups are intact.",
        "I cannot say whether the backups are intact.",
        "Nobody can know if the backups are intact.",
        "It is not true that the backups are intact.",
        "It cannot be known.",
        "I do not know",
        "Maybe.",
        "42",
        "...",
        "",
    ],
)
def test_a_denial_a_doubt_and_silence_affirm_nothing(answer: str) -> None:
    assert not affirms(answer, WORDS)


def test_a_statement_that_denies_something_is_affirmed_by_yes() -> None:
    for words in ("No data was lost", "The alarm is false", "It is not full"):
        assert affirms(f"Yes, {words.lower()}.", words), words
        assert affirms("Yes.", words)
        assert not affirms("No.", words)


@given(st.integers(0, 7), st.integers(0, 7), st.floats(0, 1))
def test_what_half_or_more_do_not_affirm_is_fully_uncertain(yes: int, no: int, value: float) -> None:
    found, count = uncertain_of(WORDS, ("yes",) * yes + ("no",) * no, value)
    assert count == yes
    assert found == (1.0 if yes <= no else max(value, 1 - yes / (yes + no)))


@given(st.text(), st.text())
def test_whatever_is_answered_can_be_read(answer: str, statement: str) -> None:
    assert affirms(answer, statement) in {True, False}
