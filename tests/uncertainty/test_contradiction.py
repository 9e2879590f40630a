"""Contradiction is seen before any judge is asked, whatever words it comes in."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.llm.scripted import ScriptedModel
from beliefd.uncertainty.equivalence import reading
from beliefd.uncertainty.equivalence.contradiction import contradicts, unless_contradicted
from beliefd.uncertainty.equivalence.embedding import EmbeddingJudge
from beliefd.uncertainty.equivalence.lexical import LexicalJudge, entails
from beliefd.uncertainty.equivalence.llm import LLMJudge
from beliefd.uncertainty.equivalence.nli import NLIJudge
from beliefd.uncertainty.equivalence.port import Judge, Pair
from beliefd.uncertainty.equivalence.tokens import tokens
from beliefd.uncertainty.evaluation_judges import labelled_pairs
from beliefd.uncertainty.semantic_entropy import semantic_entropy
from tests.uncertainty.nli_model import write_model

APART = [
    ("Several nodes failed.", "A single node failed."),
    ("Multiple disks failed.", "Exactly one disk failed."),
    ("The price rose by 3.", "The price rose to 3."),
    ("Memory grew 2 GB.", "Memory grew to 2 GB."),
    ("There was a rise of 5 euros.", "There was a rise to 5 euros."),
    ("The fix landed the day before the release.", "The fix landed the day after the release."),
    ("The certificate expired the day before.", "The certificate expired the day after."),
    ("The vote took place subsequent to the debate.", "The vote took place in advance of the debate."),
    ("Mary is Tom's manager.", "Tom is Mary's manager."),
    ("Ivan is the father of Boris.", "Ivan's father is Boris."),
    ("Acme became Globex's largest supplier.", "Globex became Acme's largest supplier."),
    ("No data was lost.", "Data was lost."),
    ("Neither disk nor network", "Disk and network"),
    ("It is safe.", "It is hardly safe."),
    ("Zero packets were lost.", "Packets were lost."),
    ("The disk is not full and the network is not down.", "The disk is full and the network is down."),
    ("The disk failed, not the controller.", "The controller failed, not the disk."),
    ("The signature is valid.", "The signature is invalid."),
    ("The stock is overvalued.", "The stock is undervalued."),
    ("The system is secure.", "The system is anything but secure."),
    ("Every node was restarted.", "Not every node was restarted."),
    ("Two of the nodes are down.", "All of the nodes are down."),
    ("Only admins can log in.", "Everyone can log in."),
    ("At least five hosts failed.", "At most five hosts failed."),
    ("The rate rose from 2 to 8 percent.", "The rate rose from 8 to 2 percent."),
    ("Forty-two hosts were scanned.", "Forty-three hosts were scanned."),
    ("It sends 10 requests per second.", "It sends 10 requests a minute."),
    ("Sales rose.", "Sales fell."),
    ("The valve is open.", "The valve is closed."),
    ("The service started.", "The service stopped."),
    ("Host db-1 failed.", "Host db-2 failed."),
    ("The bug is in v2.3.1.", "The bug is in v2.3.10."),
    ("The deploy was on Monday.", "The deploy was on Tuesday."),
    ("Before lunch the queue was long.", "After lunch the queue was long."),
    ("The deploy caused the outage.", "The outage caused the deploy."),
    ("A causes B.", "B causes A."),
    ("The dog that bit the boy ran away.", "The dog that the boy bit ran away."),
    ("You must not enter.", "You do not have to enter."),
    ("The migration has finished.", "The migration will finish."),
    ("The job is running.", "The job has run."),
    ("Restart the router or the switch.", "Restart the router and the switch."),
]
TOGETHER = [
    ("A single node failed.", "One node failed."),
    ("Multiple disks failed.", "Several disks failed."),
    ("Mary is Tom's manager.", "Tom's manager is Mary."),
    ("Ivan is the father of Boris.", "Boris's father is Ivan."),
    ("They met the morning after the vote.", "The morning after the vote, they met."),
    ("No data was lost.", "Data was not lost."),
    ("It is not impossible.", "It is possible."),
    ("All tests failed.", "No test passed."),
    ("Some of the tests did not pass.", "Not all of the tests passed."),
    ("The guard never fails to check badges.", "The guard always checks badges."),
    ("Forty-two hosts were scanned.", "42 hosts were scanned."),
    ("A dozen eggs broke.", "12 eggs broke."),
    ("There are 1.5k tickets.", "There are 1,500 tickets."),
    ("Half of the shards were lost.", "50 % of the shards were lost."),
    ("The film is 90 min long.", "The film is 1.5 h long."),
    ("The run took 1 h 30 min.", "The run took ninety minutes."),
    ("The loss was $2 million.", "The loss was two million dollars."),
    ("The meeting is at 14:30.", "The meeting is at 2:30 pm."),
    ("It happened on 2024-05-06.", "It happened on May 6th, 2024."),
    ("He was born in nineteen eighty-four.", "He was born in 1984."),
    ("A caused B.", "B was caused by A."),
    ("Anna is taller than Beth.", "Beth is shorter than Anna."),
    ("The crash happened before the upgrade.", "The upgrade happened after the crash."),
    ("The valve is open.", "The valve is not closed."),
    ("You must take it.", "You have to take it."),
]
SUBJECTS = st.sampled_from(["the disk", "the server", "the patient", "a worker", "our bank", "Alice"])
STATES = st.sampled_from(
    ["full", "safe", "ready", "guilty", "online", "valid", "in Berlin", "late", "a doctor"]
)
SAID = st.sampled_from([text for pair in labelled_pairs() for text in (pair.a, pair.b)])


class Yes:
    """Says that everything means the same."""

    name, batch = "yes", 8

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        return [True for _ in pairs]


@pytest.mark.parametrize(("a", "b"), APART)
def test_a_contradiction_is_seen_from_both_ends(a: str, b: str) -> None:
    assert contradicts(a, b)
    assert contradicts(b, a)


@pytest.mark.parametrize(("a", "b"), TOGETHER)
def test_one_statement_in_other_words_is_none_and_the_lexical_judge_merges_it(a: str, b: str) -> None:
    assert not contradicts(a, b)
    assert (entails(a, b), entails(b, a)) == (True, True)


def test_every_built_in_judge_asks_for_contradiction_first(tmp_path: Path) -> None:
    """Each of the models behind them would merge anything."""
    judges: list[Judge] = [
        LexicalJudge(),
        EmbeddingJudge(alike=-1.0),
        NLIJudge(write_model(tmp_path / "tiny")),
        LLMJudge(ScriptedModel(["yes"])),
    ]
    for judge in judges:
        assert not any(judge.entails_all([(b, a) for a, b in APART])), judge.name
        assert semantic_entropy(APART[0], judge).uncertainty.value == 1, judge.name


def test_a_judge_is_only_asked_about_the_pairs_that_are_left() -> None:
    asked: list[Pair] = []

    def ask(pairs: list[Pair]) -> list[bool]:
        asked.extend(pairs)
        return [True for _ in pairs]

    pairs = [("It works.", "It does not work."), ("It works.", "It runs."), ("yes", "no")]
    assert unless_contradicted(pairs, ask) == [False, True, False]
    assert asked == [pairs[1]]
    assert unless_contradicted([pairs[0]], ask) == [False]
    assert unless_contradicted(pairs, lambda left: []) == [], "who does not answer is not answered for"


@given(SUBJECTS, STATES)
def test_not_turns_a_statement_round_and_a_second_time_back(subject: str, state: str) -> None:
    said, denied = f"{subject} is {state}", f"{subject} is not {state}"
    assert contradicts(said, denied)
    assert not contradicts(said, f"it is not true that {denied}")
    assert not contradicts(denied, f"{subject} isn't {state}")


@given(SAID, SAID)
def test_contradiction_and_the_lexical_judge_are_symmetric(a: str, b: str) -> None:
    assert contradicts(a, b) == contradicts(b, a)
    if contradicts(a, b):
        assert not entails(a, b)
        assert not entails(b, a)


@given(st.one_of(st.text(max_size=200), SAID))
def test_no_answer_contradicts_itself_in_other_case_punctuation_or_articles(text: str) -> None:
    assert not contradicts(text, text)
    assert entails(text, text)


@given(SAID)
def test_case_and_the_last_stop_make_no_difference(text: str) -> None:
    for other in (text.rstrip("."), f" {text} ", text.replace("The ", "the "), text.replace("'", "’")):
        assert entails(text, other)
        assert entails(other, text)


def test_an_answer_beyond_the_bounds_means_its_own_wording_only(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "The disk is full. " * 2_000
    assert not contradicts(long, long.upper().replace(" ", "  "))
    assert contradicts(long, long + "It is not.")
    assert contradicts(long, "The disk is full.")
    monkeypatch.setattr(reading, "MAX_CLAUSES", 3)
    reading.read.cache_clear()
    assert contradicts("a is b. c is d. e is f. g is h.", "a is b. c is d. e is f. g is j.")
    reading.read.cache_clear()


@pytest.mark.parametrize(
    "word",
    [
        "not ",
        "a, ",
        "5 ",
        "by ",
        "up to ",
        "one hundred ",
        "'",
        "(",
        "A ",
        "1/",
        "no. ",
        "twenty ",
        "hundred and ",
    ],
)
def test_reading_the_longest_answer_takes_no_longer_than_its_length(word: str) -> None:
    text = (word * reading.MAX_LENGTH)[: reading.MAX_LENGTH]
    started = time.process_time()
    reading.read(text)
    contradicts(text, text[:-9] + " the end")
    assert time.process_time() - started < 3


def test_marks_on_letters_take_no_more_time_than_letters() -> None:
    """Sixteen times the marks take about sixteen times the time; a normal form of them would take 256."""

    def cost(count: int) -> float:
        text = "a" + "\u0301\u0316" * count
        best = []
        for _ in range(5):
            started = time.process_time()
            tokens(text)
            best.append(time.process_time() - started)
        return min(best)

    assert cost(64_000) < 64 * cost(4_000)
