"""All use cases on one screen. Adding a verb means adding a row here and a handler in the steward."""

from typing import Annotated, Final

from msgspec import Meta

from beliefd.kernel.beliefs import commands
from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Id, Value
from beliefd.protocol import answers
from beliefd.protocol.claim_operations import CLAIM_OPERATIONS
from beliefd.protocol.firewall_operations import FIREWALL_OPERATIONS
from beliefd.protocol.knowledge_operations import KNOWLEDGE_OPERATIONS
from beliefd.protocol.operation import (
    MIB,
    ON_WRITING,
    OPERATORS,
    PROPOSERS,
    SESSION_PATH,
    Operation,
    Parameter,
)
from beliefd.protocol.substrate_operations import SUBSTRATE_OPERATIONS
from beliefd.protocol.uncertainty_operations import UNCERTAINTY_OPERATIONS

__all__ = ["BY_NAME", "OPERATIONS", "AskCounterfactual", "Operation", "Parameter"]


class Without(Value, frozen=True):
    """What to imagine away."""

    source_ids: tuple[Id, ...]


class AskCounterfactual(Value, frozen=True):
    without: Without


S: Final = SESSION_PATH

BELIEF_OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        name="declare_session",
        method="POST",
        path="/v1/sessions",
        body=commands.DeclareSession,
        answer=answers.Declared,
        status=201,
        max_body=64 * MIB,
        idempotency_key=True,
        roles=PROPOSERS,
        errors=(Code.CONFLICT,),
        summary="Open a session over a fixed set of hypotheses",
    ),
    Operation(
        name="list_sessions",
        method="GET",
        path="/v1/sessions",
        answer=answers.SessionPage,
        query=(
            Parameter(name="cursor", kind=Id, summary="`next` of the page before"),
            Parameter(
                name="limit", kind=Annotated[int, Meta(ge=1, le=500)], default=50, summary="Sessions a page"
            ),
        ),
        summary="Page through sessions, oldest first",
    ),
    Operation(
        name="query_belief",
        method="GET",
        path=S,
        answer=answers.BeliefSnapshot,
        query=(
            Parameter(
                name="at",
                kind=Annotated[int, Meta(ge=1, le=MAX_SAFE_INTEGER)],
                summary="The state right after the event with this `seq`; the newest when left out",
            ),
            Parameter(name="survivors_after", kind=Id, summary="`survivors_next` of the page before"),
            Parameter(
                name="survivors_limit",
                kind=Annotated[int, Meta(ge=0, le=100_000)],
                default=answers.SURVIVORS_PAGE,
                summary="Survivors a page; `n_survivors` is exact all the same",
            ),
        ),
        summary="The state now, or at a past event",
    ),
    Operation(
        name="eliminate",
        method="POST",
        path=f"{S}/eliminate",
        body=commands.Eliminate,
        answer=answers.Eliminated,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        errors=(Code.INVALID_HYPOTHESIS_ID, *ON_WRITING),
        summary="Remove hypotheses that an observation contradicts",
    ),
    Operation(
        name="enter_obligation",
        method="POST",
        path=f"{S}/obligations",
        body=commands.EnterObligation,
        answer=answers.Recorded,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        errors=ON_WRITING,
        summary="Promise eliminations before concluding",
    ),
    Operation(
        name="request_exit",
        method="POST",
        path=f"{S}/obligations/{{obligation_id}}/exit",
        body=commands.RequestExit,
        answer=answers.Ruled,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        errors=(Code.OBLIGATION_NOT_FOUND, *ON_WRITING),
        summary="Ask to be released from an obligation",
    ),
    Operation(
        name="declare_conclusion",
        method="POST",
        path=f"{S}/conclusions",
        body=commands.DeclareConclusion,
        answer=answers.Concluded,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        errors=ON_WRITING,
        summary="State what the session has come to",
    ),
    Operation(
        name="request_termination",
        method="POST",
        path=f"{S}/terminate",
        body=commands.RequestTermination,
        answer=answers.Ruled,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        errors=ON_WRITING,
        summary="Ask to close the session for good",
    ),
    Operation(
        name="batch",
        method="POST",
        path=f"{S}/batch",
        answer=None,
        roles=PROPOSERS,
        max_body=64 * MIB,
        body_media="application/x-ndjson",
        media="application/x-ndjson",
        stream="lines",
        summary="Many verbs, one a line, answered in order",
    ),
    Operation(
        name="audit_trace",
        method="GET",
        path=f"{S}/audit",
        answer=answers.AuditPage,
        query=(
            Parameter(
                name="limit",
                kind=Annotated[int, Meta(ge=1, le=answers.AUDIT_PAGE)],
                default=answers.AUDIT_PAGE,
                summary="Entries a page",
            ),
            Parameter(name="since_event_id", kind=Id, summary="Only entries after this one"),
        ),
        tag="ledger",
        summary="The ledger, entry by entry",
    ),
    Operation(
        name="verify",
        method="GET",
        path=f"{S}/audit/verify",
        answer=answers.Verified,
        tag="ledger",
        summary="Recompute the whole chain and name the first bad event",
    ),
    Operation(
        name="export",
        method="GET",
        path=f"{S}/audit/export",
        answer=None,
        media="application/x-ndjson",
        stream="lines",
        tag="ledger",
        summary="The ledger as JSON Lines, ready for any verifier",
    ),
    Operation(
        name="events",
        method="GET",
        path=f"{S}/events",
        answer=None,
        media="text/event-stream",
        stream="events",
        tag="ledger",
        summary="Live feed of entries; resumes from Last-Event-ID",
    ),
    Operation(
        name="why",
        method="GET",
        path=f"{S}/why/{{hypothesis}}",
        answer=answers.Why,
        errors=(Code.INVALID_HYPOTHESIS_ID,),
        tag="ledger",
        summary="Which observations spoke against a hypothesis",
    ),
    Operation(
        name="counterfactual",
        method="POST",
        path=f"{S}/counterfactual",
        body=AskCounterfactual,
        answer=answers.Counterfactual,
        tag="ledger",
        summary="What would survive had some sources never spoken",
    ),
    Operation(
        name="merge",
        method="POST",
        path=f"{S}/merge",
        answer=answers.Eliminated,
        roles=OPERATORS,
        body_media="application/x-ndjson",
        max_body=256 * MIB,
        errors=ON_WRITING,
        tag="ledger",
        summary="Take over the eliminations of a replica that was apart",
    ),
    Operation(
        name="import_ledger",
        method="POST",
        path="/v1/ledgers",
        answer=answers.Imported,
        status=201,
        roles=OPERATORS,
        body_media="application/x-ndjson",
        max_body=256 * MIB,
        errors=(Code.CONFLICT,),
        tag="ledger",
        summary="Verify an exported ledger and take it in",
    ),
)

OPERATIONS: Final[tuple[Operation, ...]] = (
    *BELIEF_OPERATIONS,
    *CLAIM_OPERATIONS,
    *SUBSTRATE_OPERATIONS,
    *FIREWALL_OPERATIONS,
    *UNCERTAINTY_OPERATIONS,
    *KNOWLEDGE_OPERATIONS,
)
BY_NAME: Final = {operation.name: operation for operation in OPERATIONS}
