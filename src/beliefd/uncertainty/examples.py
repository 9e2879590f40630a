"""Twelve small sets of answers that show what the methods see and what they miss."""

from typing import Final

from msgspec import Struct

from beliefd.uncertainty.equivalence.port import Judge
from beliefd.uncertainty.model_disagreement import model_disagreement
from beliefd.uncertainty.semantic_entropy import nearest_neighbour_entropy, semantic_entropy

SETS: Final[dict[str, tuple[str, ...]]] = {
    "one answer, three times": ("Paris", "Paris", "Paris"),
    "bare and in a sentence": ("Paris", "It is Paris.", "The capital of France is Paris."),
    "paraphrases": (
        "The drug lowers blood pressure.",
        "Blood pressure is reduced by the drug.",
        "It decreases blood pressure.",
    ),
    "one dissent": ("Paris", "Paris", "Lyon"),
    "one dissent in sentences": (
        "The capital of France is Paris.",
        "France's capital is Paris.",
        "The capital of France is Lyon.",
    ),
    "opposite directions": ("It reduces blood pressure.", "It increases blood pressure."),
    "with and without not": ("The patient should take it.", "The patient should not take it."),
    "yes, no, maybe": ("yes", "no", "maybe"),
    "one quantity, three units": ("1.5 km", "1500 metres", "1,500 m"),
    "neighbouring years": ("1998", "1998", "1999"),
    "who bites whom": ("dog bites man", "man bites dog"),
    "nothing in common": ("Rome", "Oslo", "Lima", "Cairo", "Quito"),
}


class Example(Struct, frozen=True):
    """A set and its values. Where the judge failed nothing was `measured`, and 1.0 stands for that."""

    name: str
    answers: tuple[str, ...]
    semantic_entropy: float
    nearest_neighbour_entropy: float
    model_disagreement: float
    recommendation: str
    measured: bool


def table(judge: Judge | None = None) -> list[Example]:
    """Every set with what the methods say under a judge; the recommendation is semantic entropy's."""
    found = []
    for name, answers in SETS.items():
        entropy = semantic_entropy(answers, judge)
        found.append(
            Example(
                name,
                answers,
                entropy.uncertainty.value,
                nearest_neighbour_entropy(answers).uncertainty.value,
                model_disagreement(answers, judge).uncertainty.value,
                entropy.uncertainty.gate_recommendation,
                entropy.measured,
            )
        )
    return found
