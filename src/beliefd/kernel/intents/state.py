"""What is believed and how it may change: propositions, and the write intents that change them."""

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec.structs import replace

from beliefd.kernel.experiments.prediction import Prediction
from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.speculation.lanes import GROUNDED, SPECULATIVE, Lane
from beliefd.kernel.values import Id, Principal, Text, Value

EpistemicStatus = Literal["proven", "supported", "unresolved", "speculative", "refuted"]
IntentType = Literal[
    "create_claim",
    "create_proposition",
    "update_epistemic_status",
    "refute_claim",
    "revise_proposition",
    "fork_proposition",
    "quarantine_proposition",
    "record_metric",
    "record_trace",
]
IntentState = Literal[
    "staged",
    "awaiting_approval",
    "approved",
    "rejected",
    "deferred",
    "cancelled",
    "expired",
    "superseded",
    "executed",
    "failed",
]
INTENT_LANES: Final[dict[str, Lane]] = {
    "create_claim": SPECULATIVE,
    "create_proposition": GROUNDED,
    "update_epistemic_status": GROUNDED,
    "refute_claim": GROUNDED,
    "revise_proposition": GROUNDED,
    "fork_proposition": GROUNDED,
    "quarantine_proposition": GROUNDED,
    "record_metric": GROUNDED,
    "record_trace": GROUNDED,
}
"""INVARIANT: what has no lane here has none at all, and an intent without a lane is denied."""


class Proposition(Value, frozen=True):
    """A testable claim with its epistemic status, and the intent and evidence that gave it.

    `prediction` is what a test of it must find; without one nothing can be tested. It is fixed with the
    statement, at `worded_at`. `fell` says why the status went down by itself, if it did last.
    """

    claim_id: str
    statement: str
    status: EpistemicStatus
    created_at: str
    created_by: str
    changed_at: str
    intent_id: str
    evidence_ids: tuple[str, ...] = ()
    revision: int = 1
    forked_from: str | None = None
    quarantined: bool = False
    prediction: Prediction | None = None
    worded_at: str = ""
    fell: str = ""
    lane: Literal["grounded"] = "grounded"


class Change(Value, frozen=True):
    """What an intent would do. Which members it needs depends on its type."""

    type: IntentType
    claim_id: Id
    statement: Text | None = None
    to_status: EpistemicStatus | None = None
    evidence_ids: tuple[Id, ...] = ()
    new_claim_id: Id | None = None
    prediction: Prediction | None = None
    values: dict[str, Any] = {}
    reason: Annotated[str, msgspec.Meta(max_length=2_000)] = ""


class IntentStep(Value, frozen=True):
    """One step of an intent's life."""

    state: IntentState
    at: str
    by: str
    why: str = ""


class Intent(Value, frozen=True):
    """A wish to change what is believed, and what became of it."""

    intent_id: str
    lane: Lane
    change: Change
    proposer: Principal
    history: tuple[IntentStep, ...]
    expires_at: str
    approval_id: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None

    @property
    def state(self) -> IntentState:
        return self.history[-1].state


class Intents(Part, frozen=True):
    """The write intents of a session, and the propositions that they made."""

    by_id: Growing[Intent] = msgspec.field(default=EMPTY, name="intents")
    propositions: Growing[Proposition] = EMPTY

    def changed_by(self, intents: Iterable[Intent], propositions: Iterable[Proposition] = ()) -> "Intents":
        """INVARIANT: a proposition changes together with the intent that was carried out, or not at all."""
        held, known = self.by_id, self.propositions
        for intent in intents:
            held = held.insert(intent.intent_id, intent)
        for proposition in propositions:
            known = known.insert(proposition.claim_id, proposition)
        return replace(self, by_id=held, propositions=known)
