"""Rules about wordings: phrasal verbs, connectives, hearsay, states, and what case may not change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.uncertainty.equivalence.contradiction import contradicts
from beliefd.uncertainty.equivalence.embedding import EmbeddingJudge, normal
from beliefd.uncertainty.equivalence.lexical import entails
from beliefd.uncertainty.equivalence.phrasals import in_one_word, inflected
from beliefd.uncertainty.equivalence.port import Bench
from beliefd.uncertainty.evaluation_judges import labelled_pairs

APART = [
    ("The clerk called the judge.", "The judge called the clerk."),
    ("The student said the teacher lied.", "The teacher said the student lied."),
    ("The village became the suburb.", "The suburb became the village."),
    ("Stir until it boils.", "Stir after it boils."),
    ("The pump starts if the tank is warm.", "The pump starts unless the tank is warm."),
    ("It works even if the line is cut.", "It works if the line is cut."),
    ("She left because he sang.", "She left before he sang."),
    ("The lift can move.", "The lift did move."),
    ("The siren sounds now.", "The siren will sound later."),
    ("The bridge is rumoured to be safe.", "The bridge is safe."),
    ("The seller claims the watch is gold.", "The watch is gold."),
    ("According to the seller, the watch is gold.", "The watch is gold."),
    ("I doubt that the lock held.", "I believe that the lock held."),
    ("He tried to open the safe.", "He opened the safe."),
    ("The tool is written in C++.", "The tool is written in C."),
    ("F# is taught.", "F is taught."),
    ("The fault is in libbar-dev.", "The fault is in libbar."),
    ("It rang once.", "It rang twice."),
    ("The shelf was full.", "The shelf is full."),
    ("He moved to Rome.", "He moved from Rome."),
    ("Everyone at work saw it.", "Someone at work saw it."),
    ("There are items in the box.", "The box is empty."),
    ("host a trusts host b", "host b trusts host a"),
    ("It ended uncleanly.", "It ended cleanly."),
    ("The note was sent by Ann.", "The note was sent to Ann."),
    ("The song was written for the duke.", "The song was written by the duke."),
    ("He claims to have won.", "He won."),
    ("She pretends to be asleep.", "She is asleep."),
    ("The pilot avoided a stall.", "The pilot had a stall."),
    ("The pass ends in 10 days.", "The pass ended 10 days ago."),
    ("It is for new guests.", "It is for existing guests."),
    ("One in four doors is locked.", "One in five doors is locked."),
    ("The fee is EUR 20.", "The fee is USD 20."),
    ("No", "Yes, it did."),
    ("It stands in Hall A.", "It stands in Hall B."),
    ("They light every lamp.", "They light every other lamp."),
    ("The firm stopped selling.", "The firm kept selling."),
    ("It seems that the lock is rusty.", "The lock is rusty."),
    ("The guard alleges that he slept.", "He slept."),
    ("It was once the tallest tower.", "It is the tallest tower."),
    ("The book was written about Ann.", "The book was written by Ann."),
    ("Tim's aunt saw Kim.", "Kim's aunt saw Tim."),
    ("The room is warmer than before.", "The room is colder than before."),
    ("14:02", "It started at 14:20."),
    ("14:02", "It did not start at 14:02."),
    ("14:02", "It may have started at 14:02."),
    ("No, it did not.", "Yes"),
]
TOGETHER = [
    ("The fee is EUR 1,500,000.", "The fee is 1.5 million euros."),
    ("The note is due by Friday.", "The note is due for Friday."),
    ("Everyone but Ann came.", "Everybody except Ann came."),
    ("The siren went off at noon.", "At noon the siren sounded."),
    ("One in four doors is locked.", "25 % of doors are locked."),
    ("It was founded in one day in 1995.", "It was founded in a day in 1995."),
    ("The bus leaves every quarter of an hour.", "The bus leaves every 15 minutes."),
    ("No", "No, it did not."),
    ("14:02", "It started at 14:02."),
    ("Some of the lamps were lit.", "Some lamps were lit."),
    ("The firm stopped selling.", "The firm no longer sells."),
    ("A lift is out of order.", "A lift is broken."),
    ("The director stepped down.", "The director resigned."),
    ("They called the match off.", "They cancelled the match."),
    ("We rolled the change back.", "The change was rolled back."),
    ("The website went down.", "The website crashed."),
    ("The website went down at noon.", "At noon the website crashed."),
    ("The call was lost.", "The call dropped."),
    ("The tank ran out of fuel.", "The fuel tank was exhausted."),
    ("The box is empty.", "There are no items in the box."),
    ("There is no free space left on the card.", "The card is full."),
    ("The licence expired.", "The licence is no longer valid."),
    ("Output doubled.", "Output increased twofold."),
    ("The horse is slow.", "The horse isn't fast."),
    ("The runner is ahead of the car.", "The car is behind the runner."),
    ("The attic is above the hall.", "The hall is below the attic."),
    ("A horse is faster than a cow.", "A cow is slower than a horse."),
    ("The heater is turned off.", "The heater is disabled."),
    ("Rome is the capital of Italy.", "The Italian capital is Rome."),
    ("The pod keeps crashing.", "The pod crashes repeatedly."),
    ("The job hit a timeout.", "The job timed out."),
    ("It fell by a third.", "It fell by one third."),
    ("Bread and milk were bought.", "Milk and bread were bought."),
    ("IT STARTS IN MAY.", "It starts in May."),
    ("IT WAS CAUSED BY A BAD CABLE.", "It was caused by a bad cable."),
]
PAIRS = st.sampled_from([(pair.a, pair.b) for pair in labelled_pairs() if pair.half == "development"])
AROUND = st.sampled_from(['"{}"', "'{}'", " {} ", "{}!", "“{}”"])


@pytest.fixture(scope="module")
def judge() -> EmbeddingJudge:
    return EmbeddingJudge()


@pytest.mark.parametrize(("a", "b"), APART)
def test_what_small_words_change_is_kept_apart_by_every_judge(a: str, b: str) -> None:
    assert contradicts(a, b)
    assert contradicts(b, a)


@pytest.mark.parametrize(("a", "b"), TOGETHER)
def test_other_words_for_one_thing_are_merged(a: str, b: str) -> None:
    assert not contradicts(a, b)
    assert (entails(a, b), entails(b, a)) == (True, True)


@given(PAIRS, AROUND)
def test_quotes_spaces_and_the_last_stop_change_no_verdict(pair: tuple[str, str], around: str) -> None:
    judge = _KEPT.setdefault("judge", EmbeddingJudge())
    a, b = pair
    said = Bench(judge).equivalent_to(a, [b])
    assert Bench(judge).equivalent_to(around.format(a.rstrip(".")), [b]) == said
    assert Bench(judge).equivalent_to(a, [around.format(b)]) == said


_KEPT: dict[str, EmbeddingJudge] = {}


@given(st.text(max_size=60))
def test_what_is_embedded_has_no_case_and_is_normal_already(text: str) -> None:
    assert normal(normal(text)) == normal(text)
    if normal(text).strip(" .!?;:,\"'`“”‘’«»*"):  # else there is nothing that quotes could stand around
        assert normal(f' "{text}". ') == normal(text)


def test_a_text_in_capitals_has_the_cosine_of_the_text(judge: EmbeddingJudge) -> None:
    low, high = judge.cosines([("The disk is full", "no space"), ("THE DISK IS FULL.", '"No space"')])
    assert low == high


def test_a_small_word_is_found_behind_the_object_and_not_behind_the_next_clause() -> None:
    for said, read_as in (
        ("she turned the old lamp off .", "she disabled the old lamp ."),
        ("he called the guard , and ran off .", "he called the guard , and ran off ."),
        ("prices went down .", "prices fell ."),
        ("servers went down .", "servers crashed ."),
        ("servers went down at noon", "servers crashed at noon"),
        ("servers went down to three", "servers fell to three"),
    ):
        assert " ".join(in_one_word(said.split())) == read_as
    assert {"went", "gone", "going", "goes"} <= inflected("go").keys()
