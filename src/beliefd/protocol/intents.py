"""Intents: changes of what is believed, from the wish to what became of it."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from beliefd.kernel.errors import Code
from beliefd.kernel.experiments.prediction import Prediction
from beliefd.kernel.intents.binding import content_of
from beliefd.kernel.intents.state import Change, EpistemicStatus, Intent, IntentState, IntentStep, IntentType
from beliefd.kernel.speculation.lanes import Lane
from beliefd.kernel.values import Id, Text, Value
from beliefd.protocol.operation import ABOUT_CLAIM, PAGE, SESSION, Answer, Vocabulary, reads, writes


class IntentRequest(Value, frozen=True):
    """A change of what is believed. `lane` may be said, but not chosen: every type has its own."""

    type: IntentType
    claim_id: Id
    statement: Text | None = None
    to_status: EpistemicStatus | None = None
    evidence_ids: Annotated[tuple[Id, ...], Meta(max_length=1_000)] = ()
    new_claim_id: Id | None = None
    prediction: Prediction | None = None
    values: dict[str, Any] = {}
    reason: Annotated[str, Meta(max_length=2_000)] = ""
    lane: Lane | msgspec.UnsetType = msgspec.UNSET
    supersedes: Id | None = None


class IntentView(Answer, frozen=True):
    """A write intent: what it would change, where it stands, and how it got there."""

    intent_id: str
    lane: Lane
    change: Change
    state: IntentState
    proposer: str
    history: list[IntentStep]
    expires_at: str | None = None
    approval_id: str | None = None
    content_hash: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    audit_event_id: str | None = None


class IntentPage(Answer, frozen=True):
    """Write intents of a session."""

    intents: list[IntentView]
    next: str | None = None


def intent_view(intent: Intent, event_id: str | None = None) -> IntentView:
    waits = intent.state == "awaiting_approval"
    return IntentView(
        intent_id=intent.intent_id,
        lane=intent.lane,
        change=intent.change,
        state=intent.state,
        proposer=intent.proposer.id,
        history=list(intent.history),
        expires_at=intent.expires_at,
        approval_id=intent.approval_id,
        content_hash=content_of(intent.change) if waits else None,
        supersedes=intent.supersedes,
        superseded_by=intent.superseded_by,
        audit_event_id=event_id,
    )


class IntentRows(Vocabulary):
    """Changes of what is believed: asked for, approved, made"""

    stage_intent = writes(
        f"{SESSION}/intents",
        IntentRequest,
        IntentView,
        "Ask for a change of what is believed",
        status=201,
        errors=(
            Code.PROPOSITION_NOT_FOUND,
            Code.EVIDENCE_NOT_FOUND,
            Code.INTENT_NOT_FOUND,
            Code.HYPOTHESIS_IS_NOT_EVIDENCE,
            Code.SPECULATIVE_PROPOSAL,
            Code.SPECULATIVE_ASSERTION,
            Code.NOT_WARRANTED,
        ),
        example={
            "type": "create_proposition",
            "claim_id": "pool-wait-is-40ms",
            "statement": "a checkout waits 40 ms for a connection, give or take 2",
            "prediction": {
                "quantity": "pool_wait",
                "unit": "ms",
                "criterion": {"region": "tolerance", "value": 40.0, "tolerance": 2.0},
            },
        },
    )
    list_intents = reads(
        f"{SESSION}/intents", IntentPage, "The write intents of a session", query=(ABOUT_CLAIM, *PAGE)
    )
    show_intent = reads(
        f"{SESSION}/intents/{{intent_id}}",
        IntentView,
        "One write intent and its life so far",
        errors=(Code.INTENT_NOT_FOUND,),
    )
