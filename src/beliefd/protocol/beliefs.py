"""Sessions: declare hypotheses, eliminate them, come to an end (belief-server 2.1, 2.2)."""

from typing import Annotated, Literal

from msgspec import Meta

from beliefd.kernel.beliefs import commands
from beliefd.kernel.beliefs.state import Status
from beliefd.kernel.errors import Code
from beliefd.kernel.labels import Label
from beliefd.kernel.transfers.state import Foreign, Seal
from beliefd.kernel.values import Head, Id, Object, OntologyBundle
from beliefd.protocol.operation import (
    AT,
    LINES,
    MIB,
    OF_SPACE,
    PAGE,
    SESSION,
    Answer,
    Operation,
    Parameter,
    Vocabulary,
    reads,
    writes,
)

SURVIVORS_PAGE = 10_000
"""A snapshot lists at most this many survivors; `n_survivors` is always exact."""
MAX_METADATA = 64 * 1024
"""Bytes of metadata, as JSON, that a session is declared with."""


class ObligationView(Answer, frozen=True):
    """An obligation and how far it is met."""

    obligation_id: str
    min_total_eliminations: int
    eliminations_since_entry: int
    active: bool


class RestsOn(Answer, frozen=True):
    """How many hypotheses fell by a witnessed elimination, and how many by one that is only attested."""

    witnessed: int
    attested: int


class Shortened(Answer, frozen=True):
    """What a snapshot does not list. `query_belief` goes on with `obligations_next` as `obligations_before`,
    and with `conclusions_next` as `conclusions_after`; `metadata` says that it was left out."""

    n_obligations: int
    obligations_next: str | None
    n_conclusions: int
    conclusions_next: str | None
    metadata: bool


class BeliefSnapshot(Answer, frozen=True):
    """The state of a session as callers see it. `status` says what `entropy_proxy` alone would hide.

    `foreign` is there if the session began elsewhere: who imported it, from where, and up to which event.
    `seal` is there if nothing more may be written into it.
    `shortened` is there if obligations, conclusions or metadata are not listed completely. `title` is what it
    is called: its `metadata.title`, or else its conversation or its hypothesis space. `space` is where it is;
    it is there if sessions were listed or one was asked for by itself. `conclusions_rest_on` is filled if
    one was asked for by itself: what the session rested on when each of them was last accepted.
    """

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
    rests_on: RestsOn
    foreign: Foreign | None = None
    seal: Seal | None = None
    shortened: Shortened | None = None
    title: str = ""
    space: str = ""
    conclusions_rest_on: dict[str, RestsOn] = {}


class Declared(Answer, frozen=True):
    """The session that was opened."""

    session_id: str
    snapshot: BeliefSnapshot
    audit_event_id: str


class Eliminated(Answer, frozen=True):
    """`label` is that of an elimination; a merge takes over many, and has none of its own. `unsaid` is how
    many of these it could not take over the justification of; `why` says for which, and why not."""

    applied_eliminated: list[str]
    ignored_eliminated: list[str]
    snapshot: BeliefSnapshot
    audit_event_id: str
    label: Label | None
    unsaid: int = 0


class Recorded(Answer, frozen=True):
    """The event on record, and the session after it."""

    snapshot: BeliefSnapshot
    audit_event_id: str


class Ruled(Answer, frozen=True):
    """The answer to a request that may be turned down: REQUEST_EXIT and REQUEST_TERMINATION."""

    approved: bool
    reason: str
    snapshot: BeliefSnapshot
    audit_event_id: str


class Concluded(Answer, frozen=True):
    """Whether a conclusion was accepted, and why or why not."""

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


class ArchivedSession(Answer, frozen=True):
    """A session whose ledger is not in the store: where it is, and what it must be."""

    session_id: str
    events: int
    head: Head
    place: str
    file_sha256: str
    archived_at: str
    archived_by: str


class SessionPage(Answer, frozen=True):
    """`broken` are the sessions of the page whose ledgers do not verify; they do not hide the others.
    `archived` are those whose ledgers are elsewhere."""

    sessions: list[BeliefSnapshot]
    next: str | None
    broken: list[BrokenLedger] = []
    archived: list[ArchivedSession] = []


class Health(Answer, frozen=True, kw_only=True):
    """That the server answers, and which version it is."""

    status: Literal["ok"] = "ok"
    version: str
    protocol: str


class BeliefRows(Vocabulary):
    """Declare hypotheses, eliminate them, come to an end"""

    declare_session = Operation(
        method="POST",
        path="/v1/sessions",
        body=commands.DeclareSession,
        answer=Declared,
        status=201,
        max_body=32 * MIB,
        idempotency_key=True,
        notes=True,
        errors=(Code.CONFLICT, Code.NOT_FOUND),
        command=commands.DeclareSession,
        summary="Open a session over a fixed set of hypotheses",
        example={
            "ontology": {
                "hypothesis_space_id": "sre/checkout-latency",
                "hypothesis_version": "3",
                "causal_graph_ref": "graphstore://postgres-repl",
                "causal_graph_version": "v17",
            },
            "hypotheses": ["bad_deploy", "db_connection_exhaustion", "disk_full", "replication_lag"],
            "metadata": {"title": "Checkout is slow", "incident": "INC-2041"},
        },
    )
    list_sessions = reads(
        "/v1/sessions", SessionPage, "Page through sessions, oldest first", query=(*PAGE, OF_SPACE)
    )
    query_belief = reads(
        SESSION,
        BeliefSnapshot,
        "The state now, or at a past event",
        query=(
            AT,
            Parameter(name="survivors_after", kind=Id, summary="`survivors_next` of the page before"),
            Parameter(
                name="survivors_limit",
                kind=Annotated[int, Meta(ge=0, le=100_000)],
                default=SURVIVORS_PAGE,
                summary="How many survivors per page; `n_survivors` is exact all the same",
            ),
            Parameter(
                name="obligations_before",
                kind=Id,
                summary="`obligations_next` of the page before: the obligations entered earlier",
            ),
            Parameter(
                name="conclusions_after", kind=Id, summary="`conclusions_next` of the page before, by name"
            ),
        ),
    )
    eliminate = writes(
        f"{SESSION}/eliminate",
        commands.Eliminate,
        Eliminated,
        "Remove hypotheses that an observation contradicts",
        errors=(
            Code.INVALID_HYPOTHESIS_ID,
            Code.NOT_FOUND,
            Code.OBSERVATION_NOT_FOUND,
            Code.RUN_NOT_FOUND,
            Code.NOT_WARRANTED,
        ),
        example={
            "source_id": "adapter://sre",
            "observation_id": "df-14:02",
            "eliminated": ["disk_full"],
            "justification": {"probe": "df", "used": 0.41},
        },
    )
    enter_obligation = writes(
        f"{SESSION}/obligations",
        commands.EnterObligation,
        Recorded,
        "Promise eliminations before concluding",
        example={"obligation_id": "look-before-you-leap", "min_total_eliminations": 2},
    )
    request_exit = writes(
        f"{SESSION}/obligations/{{obligation_id}}/exit",
        commands.RequestExit,
        Ruled,
        "Ask to be released from an obligation",
        slashed=True,
        errors=(Code.OBLIGATION_NOT_FOUND,),
        example={"context": {"asked_by": "triage"}},
    )
    declare_conclusion = writes(
        f"{SESSION}/conclusions",
        commands.DeclareConclusion,
        Concluded,
        "State what the session has come to",
        example={"conclusion_id": "db_connection_exhaustion"},
    )
    request_termination = writes(
        f"{SESSION}/terminate",
        commands.RequestTermination,
        Ruled,
        "Ask to close the session for good",
        example={"context": {"ticket": "INC-2041"}},
    )
    batch = Operation(
        method="POST",
        path=f"{SESSION}/batch",
        answer=list[Object],
        max_body=64 * MIB,
        body_media=LINES,
        content="JSON Lines",
        media=LINES,
        stream="One answer or error per line, in the order of the lines",
        summary="Many verbs, one per line, answered in order",
        example=(
            '{"verb":"ELIMINATE","source_id":"adapter://sre","observation_id":"pg-14:03",'
            '"eliminated":["replication_lag"],"justification":{"lag_ms":3}}\n'
            '{"verb":"ELIMINATE","source_id":"human://ana","observation_id":"deploy-log",'
            '"eliminated":["bad_deploy"],"justification":{"last_deploy":"2 days ago"}}\n'
        ),
    )
