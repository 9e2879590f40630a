"""The lexical judge gets short answers, polarity, numbers, units and word order right."""

import pytest

from beliefd.uncertainty.equivalence.lexical import agreement, entails

SAME = [
    ("Paris", "paris."),
    ("Paris", "The capital of France is Paris"),
    ("Paris", "It's Paris."),
    ("Paris is the capital of France", "The capital of France is Paris"),
    ("Obama", "Barack Obama"),
    ("salt and pepper", "pepper and salt"),
    ("two", "2"),
    ("3 million", "3,000,000"),
    ("1.5 km", "1,500 metres"),
    ("10km", "10 kilometers"),
    ("100 °C", "212 F"),
    ("50%", "fifty percent"),
    ("1 Oct 1998", "1 October 1998"),
    ("Yes", "yes, it does"),
    ("I don't know", "not sure"),
    ("It is not legal", "It isn't legal"),
    ("The meeting starts at 10", "The meeting begins at 10"),
    ("It reduces blood pressure", "The drug reduces blood pressure."),
    ("The drug reduces blood pressure", "Blood pressure is reduced by the drug"),
    ("The drug lowers blood pressure", "The medication decreases blood pressure"),
    ("The dog chased the cat.", "The cat was chased by the dog."),
]
DIFFERENT = [
    ("Paris", "Lyon"),
    ("The capital of France is Paris", "The capital of France is Lyon"),
    ("He was born in 1950 in Rome", "He was born in 1950 in Milan"),
    ("South Africa", "Africa"),
    ("Botswana", "Botswana and South Africa"),
    ("Elizabeth II", "Elizabeth I"),
    ("yes", "no"),
    ("yes", "maybe"),
    ("no", "maybe"),
    ("Yes", "I don't know"),
    ("always", "never"),
    ("It is legal", "It is not legal"),
    ("It is legal", "It is illegal"),
    ("It can be done", "It cannot be done"),
    ("The patient should take the drug", "The patient should not take the drug"),
    ("It reduces blood pressure", "It increases blood pressure"),
    ("10 km", "10 miles"),
    ("10 km", "11 km"),
    ("5 mg", "5 g"),
    ("-5 C", "5 C"),
    ("1998", "1989"),
    ("dog bites man", "man bites dog"),
    ("Alice paid Bob", "Bob paid Alice"),
    ("from Paris to Lyon", "from Lyon to Paris"),
    ("Rome fell before Carthage", "Carthage fell before Rome"),
    ("5 is greater than 3", "3 is greater than 5"),
    ("Germany beat Brazil", "Brazil beat Germany"),
    ("", "Paris"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_the_same_in_other_words_entails_both_ways(a: str, b: str) -> None:
    assert (entails(a, b), entails(b, a)) == (True, True)


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_what_differs_does_not_entail_both_ways(a: str, b: str) -> None:
    assert not (entails(a, b) and entails(b, a))


@pytest.mark.parametrize(("a", "b"), [pair for pair in SAME if "not sure" not in pair])
def test_graded_agreement_sees_the_same(a: str, b: str) -> None:
    assert agreement(a, b) == agreement(b, a)
    assert agreement(a, b) >= 0.5


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("yes", "no"),
        ("no", "maybe"),
        ("It reduces pain", "It increases pain"),
        ("10 km", "11 km"),
        ("Paris", "Lyon"),
    ],
)
def test_graded_agreement_of_contradictions_is_nothing(a: str, b: str) -> None:
    assert agreement(a, b) == 0


def test_a_longer_list_entails_its_part_and_not_the_other_way() -> None:
    assert entails("Botswana and Namibia", "Botswana")
    assert not entails("Botswana", "Botswana and Namibia")
