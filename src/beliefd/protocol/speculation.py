"""Speculation: alternatives to a claim, which have no weight."""

from typing import Annotated

from msgspec import Meta

from beliefd.kernel.speculation.lanes import Lane
from beliefd.kernel.speculation.state import Alternative
from beliefd.kernel.values import Id, Value
from beliefd.protocol.operation import ABOUT_CLAIM, PAGE, SESSION, Answer, Vocabulary, reads, writes


class SpeculationRequest(Value, frozen=True):
    """Alternatives to a claim."""

    claim_id: Id
    hypotheses: Annotated[tuple[Alternative, ...], Meta(min_length=1, max_length=100)]


class HypothesisView(Answer, frozen=True):
    """A speculative hypothesis. It has no weight; `lane` says so wherever it is shown."""

    hypothesis_id: str
    claim_id: str
    alternative: Alternative
    proposed_by: str
    proposed_at: str
    targets_proposition: bool
    lane: Lane = "speculative"


class Links(Answer, frozen=True):
    """Links to the session always hold; those to the proposition are tried, and may fail."""

    session: int
    proposition_attempted: int
    proposition_created: int


class SpeculationAnswer(Answer, frozen=True):
    """Ideas that were noted, and what they could be linked to."""

    hypotheses: list[HypothesisView]
    links: Links
    soft_failures: list[str]
    audit_event_id: str


class HypothesisPage(Answer, frozen=True):
    """Hypotheses of the speculative lane."""

    hypotheses: list[HypothesisView]
    next: str | None = None


class SpeculationRows(Vocabulary):
    """Alternatives to a claim: noted, never weighed"""

    speculate = writes(
        f"{SESSION}/hypotheses",
        SpeculationRequest,
        SpeculationAnswer,
        "Note alternatives to a claim, in the speculative lane",
        status=201,
        example={
            "claim_id": "pool-wait-is-40ms",
            "hypotheses": [
                {
                    "statement": "a slow query holds connections longer than usual",
                    "mechanism": "lock wait on the orders table",
                    "prediction": "waits grow with the age of the longest transaction",
                    "confidence": 0.3,
                }
            ],
        },
    )
    list_hypotheses = reads(
        f"{SESSION}/hypotheses",
        HypothesisPage,
        "The speculative hypotheses of a session",
        query=(ABOUT_CLAIM, *PAGE),
    )
