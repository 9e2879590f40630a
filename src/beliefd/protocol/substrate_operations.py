"""The rows of the symbolic state, proposals, tools, capabilities and memory."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from beliefd.kernel.errors import Code
from beliefd.kernel.substrate.capabilities import Scope
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.proposals import DeltaCandidate, Provenance
from beliefd.kernel.values import Id, Object, Value
from beliefd.protocol import substrate_answers as answers
from beliefd.protocol.operation import ON_WRITING, PROPOSERS, SESSION_PATH, Operation, Parameter

S: Final = SESSION_PATH
TOKEN_LENGTH: Final = 4096


class CallRequest(Value, frozen=True, tag_field="kind", tag="tool_call"):
    """A tool call as asked for, with the token that proves its capability."""

    tool_id: Id
    args: Object = {}
    capability_token: Annotated[str, Meta(max_length=TOKEN_LENGTH)] | None = None
    idempotency_key: Id | None = None


class ProposalRequest(Value, frozen=True):
    """Candidates for arbitration, made on a snapshot; without one, on the newest."""

    provenance: Provenance
    candidates: Annotated[tuple[DeltaCandidate | CallRequest, ...], Meta(min_length=1, max_length=100)]
    state_snapshot_id: Id | None = None


class CapabilityRequest(Value, frozen=True):
    """A capability in a session; with `parent_token`, a narrower one out of what that token allows.

    A `signed` token can be verified and narrowed down without the server; it takes the extra `biscuit`.
    """

    session_id: Id
    agent_id: Id
    scope: Scope
    expires_in_seconds: Annotated[int, Meta(ge=1, le=30 * 24 * 3600)] = 3600
    parent_token: Annotated[str, Meta(max_length=TOKEN_LENGTH)] | None = None
    signed: bool = False


SUBSTRATE_OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        name="show_state",
        tag="substrate",
        method="GET",
        path=f"{S}/state",
        answer=answers.StateAnswer,
        query=(Parameter(name="at", kind=Id, summary="A past `state_snapshot_id`"),),
        summary="The symbolic state, now or at a past snapshot",
    ),
    Operation(
        name="propose",
        tag="substrate",
        errors=ON_WRITING,
        method="POST",
        path=f"{S}/proposals",
        body=ProposalRequest,
        answer=answers.ProposalAnswer,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        summary="Arbitrate state changes and tool calls; what is allowed happens, nothing else does",
    ),
    Operation(
        name="list_tools",
        tag="substrate",
        method="GET",
        path="/v1/tools",
        answer=answers.ToolList,
        summary="Tools and their schemas",
    ),
    Operation(
        name="issue_capability",
        tag="substrate",
        errors=(Code.NOT_FOUND, Code.SESSION_NOT_FOUND, *ON_WRITING),
        method="POST",
        path="/v1/capabilities",
        body=CapabilityRequest,
        answer=answers.IssuedCapability,
        status=201,
        summary="Give an agent a capability, or narrow one down",
    ),
    Operation(
        name="show_capability",
        tag="substrate",
        errors=(Code.NOT_FOUND,),
        method="GET",
        path=f"{S}/capabilities/{{capability_id}}",
        answer=answers.CapabilityView,
        summary="What a capability allows and how much of it is used",
    ),
    Operation(
        name="revoke_capability",
        tag="substrate",
        errors=(Code.NOT_FOUND, Code.SESSION_NOT_FOUND, *ON_WRITING),
        method="DELETE",
        path="/v1/capabilities/{capability_id}",
        answer=answers.CapabilityView,
        summary="End a capability and all that came out of it",
    ),
    Operation(
        name="remember",
        tag="substrate",
        errors=ON_WRITING,
        method="POST",
        path=f"{S}/memory",
        body=MemoryEntry,
        answer=answers.MemoryAnswer,
        status=201,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        summary="Take an entry into memory, if it is what it says it is",
    ),
    Operation(
        name="list_memory",
        tag="substrate",
        method="GET",
        path=f"{S}/memory",
        answer=answers.MemoryPage,
        query=(
            Parameter(
                name="show",
                kind=Literal["live", "review"],
                default="live",
                summary="Everything that has not expired, or only what is due for review",
            ),
        ),
        summary="Memory entries with their class",
    ),
)
