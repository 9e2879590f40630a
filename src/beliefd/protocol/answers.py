"""What callers get back (belief-server 2.1, 2.2)."""

import math
from typing import Any, Literal

from msgspec import Struct

from beliefd.kernel.beliefs.state import Status
from beliefd.kernel.state import Session
from beliefd.kernel.values import Head, Object, OntologyBundle

SURVIVORS_PAGE = 10_000
"""A snapshot lists at most this many survivors; `n_survivors` is always exact."""
AUDIT_PAGE = 10_000
"""An audit answer holds at most this many entries; `next` says where to go on."""


class Answer(Struct, frozen=True, kw_only=True):
    """Base of all answers."""


class ObligationView(Answer, frozen=True):
    obligation_id: str
    min_total_eliminations: int
    eliminations_since_entry: int
    active: bool


class BeliefSnapshot(Answer, frozen=True):
    """The state of a session as callers see it. `status` says what `entropy_proxy` alone would hide."""

    session_id: str
    ontology: OntologyBundle
    survivors: list[str]
    n_survivors: int
    n_hypotheses: int
    survivors_next: str | None
    entropy_proxy: float
    status: Status
    terminated: bool
    active_obligation_id: str | None
    obligations: list[ObligationView]
    conclusions: dict[str, int]
    metadata: Object
    audit_head_event_id: str | None
    seq: int
    survivors_hash: str


class Declared(Answer, frozen=True):
    session_id: str
    snapshot: BeliefSnapshot
    audit_event_id: str


class Eliminated(Answer, frozen=True):
    applied_eliminated: list[str]
    ignored_eliminated: list[str]
    snapshot: BeliefSnapshot
    audit_event_id: str


class Recorded(Answer, frozen=True):
    snapshot: BeliefSnapshot
    audit_event_id: str


class Ruled(Answer, frozen=True):
    """The answer to a request that may be turned down: REQUEST_EXIT and REQUEST_TERMINATION."""

    approved: bool
    reason: str
    snapshot: BeliefSnapshot
    audit_event_id: str


class Concluded(Answer, frozen=True):
    accepted: bool
    reason: str
    snapshot: BeliefSnapshot
    audit_event_id: str


class BrokenLedger(Answer, frozen=True):
    """A session that is stored and cannot be shown, because its ledger contradicts itself at `seq`."""

    session_id: str
    seq: int
    event_id: str | None
    reason: str


class SessionPage(Answer, frozen=True):
    """`broken` are the sessions of the page whose ledgers do not verify; they do not hide the others."""

    sessions: list[BeliefSnapshot]
    next: str | None
    broken: list[BrokenLedger] = []


class AuditPage(Answer, frozen=True):
    """`next` is the event id to continue from (`since_event_id`) when there is more."""

    events: list[dict[str, Any]]
    next: str | None


class FirstBad(Answer, frozen=True):
    seq: int
    event_id: str | None
    reason: str


class Verified(Answer, frozen=True):
    ok: bool
    checked: int
    first_bad: FirstBad | None
    head: Head | None


class Testimony(Answer, frozen=True):
    """One event that spoke against a hypothesis; `applied` marks the one that eliminated it."""

    event_id: str
    seq: int
    ts: str
    source_id: str
    observation_id: str
    justification: Object
    applied: bool
    merged_from: str | None = None


class Why(Answer, frozen=True):
    hypothesis: str
    survives: bool
    events: list[Testimony]


class ConclusionBasis(Answer, frozen=True):
    """How one accepted conclusion fares in the counterfactual, and which sources it hangs on alone."""

    conclusion_id: str
    event_id: str
    accepted_without: bool
    n_survivors_then: int
    n_survivors_without: int
    rests_on_removed: bool
    sole_sources: dict[str, list[str]]


class Counterfactual(Answer, frozen=True):
    without_source_ids: list[str]
    survivors: list[str]
    n_survivors: int
    restored: list[str]
    status: Status
    conclusions: list[ConclusionBasis]


class Imported(Answer, frozen=True):
    session_id: str
    events: int
    snapshot: BeliefSnapshot


class Health(Answer, frozen=True, kw_only=True):
    status: Literal["ok"] = "ok"
    version: str
    protocol: str


def snapshot_of(
    session: Session, head: Head, limit: int = SURVIVORS_PAGE, after: str | None = None
) -> BeliefSnapshot:
    survivors = session.beliefs.survivors
    page = survivors.page(limit + 1, after)
    more = len(page) > limit
    return BeliefSnapshot(
        session_id=session.session_id,
        ontology=session.ontology,
        survivors=page[:limit],
        n_survivors=survivors.count,
        n_hypotheses=len(survivors.universe.ids),
        survivors_next=page[limit - 1] if more and limit else None,
        entropy_proxy=math.log2(survivors.count) if survivors.count > 1 else 0.0,
        status=session.beliefs.status,
        terminated=session.beliefs.terminated,
        active_obligation_id=session.beliefs.active_obligation_id,
        obligations=[
            ObligationView(
                obligation_id=oid,
                min_total_eliminations=obligation.min_total_eliminations,
                eliminations_since_entry=session.beliefs.eliminations - obligation.entered_at,
                active=obligation.active,
            )
            for oid, obligation in session.beliefs.obligations.items()
        ],
        conclusions=session.beliefs.conclusions,
        metadata=session.metadata,
        audit_head_event_id=head.event_id,
        seq=head.seq,
        survivors_hash=survivors.digest,
    )
