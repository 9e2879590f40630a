"""The bridge between the lanes: what speculation may tell those who design experiments (contract C).

Hints live in memory for as long as a design takes. INVARIANT: only their digest is recorded or traced, so
even their `repr` shows nothing else.
"""

from collections.abc import Iterable
from typing import Annotated, Final, Literal

import msgspec

from beliefd.kernel.canonical import MAX_SAFE_INTEGER, canonical, digest
from beliefd.kernel.speculation.state import Alternative
from beliefd.kernel.values import Id, Value

MAX_IDEAS: Final = 100
DIGEST_LENGTH: Final = 16
Phrase = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
Phrases = Annotated[tuple[Phrase, ...], msgspec.Meta(max_length=MAX_IDEAS)]
Bound = Annotated[float, msgspec.Meta(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]


class PriorSuggestion(Value, frozen=True):
    """An analogy: another domain in which something alike happens, and what the quantity is like there."""

    domain: Phrase
    parallel: Phrase
    range: tuple[Bound, Bound] | None = None

    def __post_init__(self) -> None:
        if self.range is not None and self.range[0] > self.range[1]:
            raise ValueError("a range goes from low to high")


class ExperimentHints(Value, frozen=True):
    """What to look at when testing a claim. It says itself what it is, wherever it may turn up."""

    claim_id: Id
    candidate_mechanisms: Phrases = ()
    discriminative_predictions: Phrases = ()
    sensitivity_axes: Phrases = ()
    prior_suggestions: Annotated[tuple[PriorSuggestion, ...], msgspec.Meta(max_length=MAX_IDEAS)] = ()
    falsification_criteria: Phrases = ()
    epistemic_status: Literal["speculative"] = "speculative"

    def digest(self) -> str:
        """The same for the same hints in any order; another for any other hints."""
        fields = msgspec.to_builtins(self)
        return digest({name: _in_order(value) for name, value in fields.items()})[:DIGEST_LENGTH]

    def __repr__(self) -> str:
        return f"ExperimentHints(claim_id={self.claim_id!r}, digest={self.digest()!r})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("claim_id", self.claim_id), ("digest", self.digest())]

    @property
    def empty(self) -> bool:
        """Is there nothing in them that a design could take up?"""
        return not any(getattr(self, name) for name in _LISTS)


_LISTS: Final = (
    "candidate_mechanisms",
    "discriminative_predictions",
    "sensitivity_axes",
    "prior_suggestions",
    "falsification_criteria",
)


def _in_order(value: object) -> object:
    return sorted(value, key=canonical) if isinstance(value, list | tuple) else value


class Speculation(Value, frozen=True):
    """What a speculative agent came up with about one claim."""

    alternatives: Annotated[tuple[Alternative, ...], msgspec.Meta(max_length=MAX_IDEAS)] = ()
    analogies: Annotated[tuple[PriorSuggestion, ...], msgspec.Meta(max_length=MAX_IDEAS)] = ()
    edge_cases: Phrases = ()
    falsification_criteria: Phrases = ()


def extract_hints(claim_id: str, speculation: Speculation) -> ExperimentHints:
    """The hints in what was speculated: mechanisms and predictions, axes, priors, criteria; none twice."""
    alternatives = speculation.alternatives
    return ExperimentHints(
        claim_id=claim_id,
        candidate_mechanisms=_distinct(idea.mechanism or idea.statement for idea in alternatives),
        discriminative_predictions=_distinct(idea.prediction for idea in alternatives),
        sensitivity_axes=_distinct(speculation.edge_cases),
        prior_suggestions=tuple(dict.fromkeys(speculation.analogies)),
        falsification_criteria=_distinct(speculation.falsification_criteria),
    )


def _distinct(phrases: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))
