"""Hints: everything in them is in their digest, and nothing of them shows but that."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.pretty import pretty_repr

from beliefd.kernel.speculation.hints import (
    MAX_IDEAS,
    ExperimentHints,
    PriorSuggestion,
    Speculation,
    extract_hints,
)
from beliefd.kernel.speculation.state import Alternative

phrases = st.lists(st.text(min_size=1, max_size=12), max_size=4).map(tuple)
bounds = st.floats(-1e6, 1e6, allow_nan=False)
ranges = st.none() | st.tuples(bounds, bounds).map(lambda pair: (min(pair), max(pair)))
priors = st.builds(PriorSuggestion, domain=st.text(min_size=1), parallel=st.text(min_size=1), range=ranges)
hints = st.builds(
    ExperimentHints,
    claim_id=st.text(min_size=1, max_size=8),
    candidate_mechanisms=phrases,
    discriminative_predictions=phrases,
    sensitivity_axes=phrases,
    prior_suggestions=st.lists(priors, max_size=3).map(tuple),
    falsification_criteria=phrases,
    epistemic_status=st.just("speculative"),
)
FULL = ExperimentHints(
    claim_id="c1",
    candidate_mechanisms=("a leak", "a loop"),
    discriminative_predictions=("memory grows",),
    sensitivity_axes=("cold start", "leap second"),
    prior_suggestions=(
        PriorSuggestion(domain="queues", parallel="waiting grows", range=(1.0, 2.0)),
        PriorSuggestion(domain="roads", parallel="jams"),
    ),
    falsification_criteria=("it goes away by itself",),
)


@given(hints, st.randoms())
def test_the_digest_does_not_depend_on_order(given_hints: ExperimentHints, random: Any) -> None:
    shuffled = {
        name: tuple(random.sample(value, len(value)))
        for name, value in msgspec.structs.asdict(given_hints).items()
        if isinstance(value, tuple)
    }
    assert replace(given_hints, **shuffled).digest() == given_hints.digest()


CHANGES: dict[str, Callable[[ExperimentHints], Any]] = {
    "claim_id": lambda one: one.claim_id + "x",
    "candidate_mechanisms": lambda one: (*one.candidate_mechanisms, "x"),
    "discriminative_predictions": lambda one: (*one.discriminative_predictions, "x"),
    "sensitivity_axes": lambda one: one.sensitivity_axes[1:],
    "prior_suggestions": lambda one: tuple(
        replace(prior, range=(0.0, 9.0)) for prior in one.prior_suggestions
    ),
    "falsification_criteria": lambda one: (),
    "epistemic_status": lambda one: "proven",
}


@pytest.mark.parametrize("field", ExperimentHints.__struct_fields__)
def test_the_digest_covers_every_field(field: str) -> None:
    assert replace(FULL, **{field: CHANGES[field](FULL)}).digest() != FULL.digest()


def test_the_digest_keeps_lists_apart() -> None:
    moved = replace(FULL, candidate_mechanisms=("a leak",), falsification_criteria=("a loop",))
    other = replace(FULL, candidate_mechanisms=("a loop",), falsification_criteria=("a leak",))
    assert moved.digest() != other.digest()
    assert replace(FULL, candidate_mechanisms=("ab", "c")).digest() != (
        replace(FULL, candidate_mechanisms=("a", "bc")).digest()
    )


def test_the_digest_is_sixteen_hex_digits_that_never_change() -> None:
    assert FULL.digest() == "5d0f7ba65378aedf"


@given(hints)
def test_a_digest_can_stand_in_a_spec(given_hints: ExperimentHints) -> None:
    digest = given_hints.digest()
    assert len(digest) == 16
    assert int(digest, 16) >= 0


def test_hints_show_only_their_digest() -> None:
    for shown in (repr(FULL), str(FULL), f"{FULL}", pretty_repr(FULL), repr([FULL])):
        assert FULL.digest() in shown
        for text in ("a leak", "memory", "cold start", "queues", "goes away"):
            assert text not in shown


@pytest.mark.parametrize(
    "bad",
    [
        {"epistemic_status": "proven"},
        {"note": "x"},
        {"sensitivity_axes": ["x"] * (MAX_IDEAS + 1)},
        {"sensitivity_axes": ["x" * 20_001]},
        {"sensitivity_axes": [""]},
        {"prior_suggestions": [{"domain": "a", "parallel": "b", "range": [2, 1]}]},
        {"prior_suggestions": [{"domain": "a", "parallel": "b", "range": [0, 1e300]}]},
        {"claim_id": ""},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_hints_are_bounded_and_cannot_say_that_they_are_anything_else(bad: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"claim_id": "c1", **bad}, ExperimentHints)


def test_hints_are_taken_from_what_was_speculated() -> None:
    speculation = Speculation(
        alternatives=(
            Alternative(statement="it leaks", mechanism="a leak", prediction="memory grows"),
            Alternative(statement="it loops"),
            Alternative(statement="again", mechanism="a leak", prediction="memory grows"),
        ),
        analogies=(PriorSuggestion(domain="roads", parallel="jams", range=(1.0, 2.0)),),
        edge_cases=("cold start", "cold start"),
        falsification_criteria=("it stops",),
    )
    assert extract_hints("c1", speculation) == ExperimentHints(
        claim_id="c1",
        candidate_mechanisms=("a leak", "it loops"),
        discriminative_predictions=("memory grows",),
        sensitivity_axes=("cold start",),
        prior_suggestions=(PriorSuggestion(domain="roads", parallel="jams", range=(1.0, 2.0)),),
        falsification_criteria=("it stops",),
    )
    assert extract_hints("c1", Speculation()).empty
    assert not extract_hints("c1", speculation).empty
