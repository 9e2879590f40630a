"""The substrate: the symbolic state, proposals, tools, capabilities and memory."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from beliefd.kernel.errors import Code
from beliefd.kernel.substrate.commands import IssueCapability, RevokeCapability, StartCall
from beliefd.kernel.substrate.constraints import OnFail, Reason
from beliefd.kernel.substrate.dense import MAX_DIMS_OF_PROPOSAL
from beliefd.kernel.substrate.derived import Source
from beliefd.kernel.substrate.events import Verdict
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.proposals import DeltaCandidate, Rationale
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.substrate.state import Confirmation
from beliefd.kernel.substrate.tools import Qos, ToolDefinition, Witness
from beliefd.kernel.values import Id, Object, TierName, Upstream, Value
from beliefd.protocol.calls import CallView, OutcomeRequest, Permit, ReportedOutcome
from beliefd.protocol.capabilities import (
    TOKEN_LENGTH,
    CapabilityPage,
    CapabilityRequest,
    CapabilityView,
    IssuedCapability,
    RevokedCapability,
)
from beliefd.protocol.operation import (
    ON_WRITING,
    PAGE,
    SESSION,
    Answer,
    Operation,
    Parameter,
    Vocabulary,
    reads,
    writes,
)

CALL: Final = f"{SESSION}/calls/{{call_id}}"
ON_CAPABILITIES: Final = (Code.NOT_FOUND, Code.SESSION_NOT_FOUND, *ON_WRITING)


class CallRequest(Value, frozen=True, tag_field="kind", tag="tool_call"):
    """A tool call as asked for, with the token that proves its capability.

    `join_key` is what other programs know the call by, such as the id that a client gives to a use of a tool;
    it serves as `idempotency_key` where none is given. `upstream` is the catalogue that its tool is pinned
    in. `rationale` is why the agent wants it: a person who decides about it reads that.
    """

    tool_id: Id
    args: Object = {}
    capability_token: Annotated[str, Meta(max_length=TOKEN_LENGTH)] | None = None
    idempotency_key: Id | None = None
    join_key: Id | None = None
    upstream: Upstream | None = None
    rationale: Rationale | None = None


class ProposalRequest(Value, frozen=True):
    """Candidates for arbitration, made on a snapshot; without one, on the newest.

    With `execute: caller`, who proposes runs the tools: what is allowed is answered with a permit. `qos` is
    the class in which calls wait for their turn when the server is busy.
    """

    provenance: Provenance
    candidates: Annotated[tuple[DeltaCandidate | CallRequest, ...], Meta(min_length=1, max_length=100)]
    state_snapshot_id: Id | None = None
    execute: Literal["server", "caller"] = "server"
    qos: Qos = "interactive"

    def __post_init__(self) -> None:
        vectors = (one.delta_vector for one in self.candidates if isinstance(one, DeltaCandidate))
        if (dims := sum(one.dims for one in vectors if one)) > MAX_DIMS_OF_PROPOSAL:
            most = f"the vectors of one proposal have at most {MAX_DIMS_OF_PROPOSAL}"
            raise ValueError(f"{dims} numbers are too many: {most}, in field `candidates`")


class CoreVector(Answer, frozen=True):
    """The dense side of the newest change that had one, as it was sent. The event holds its proposal."""

    digest: str
    dims: int
    values: list[float]
    event_id: str


class StateAnswer(Answer, frozen=True):
    """F_sparse at a snapshot: what was proposed and committed, what rules derive from it, and what the policy
    adds: its constraints, its rules, and `policy.*`.

    `derived` are the facts that rules derive, each with its rule and the keys that the rule read.
    `policy_hash` is the policy whose constraints are shown, `created_under` the one that the snapshot was
    made under. `agent_id` proposed the change that made it and `provenance` is what came with that; of the
    empty state, who declared the session.
    """

    state_snapshot_id: str
    state_version: int
    f_sparse: dict[str, Any]
    mode: str
    seq: int
    policy_hash: str
    derived: dict[str, Source]
    created_at: str
    created_under: str
    agent_id: str
    provenance: Provenance | None = None
    s_core: CoreVector | None = None


class CandidateAnswer(Answer, frozen=True):
    """The verdict on one candidate. `result` is what an allowed call returned.

    A claim cites it as `call://<call_id>` with `result_hash`. `permit` is there if the caller is to run it
    now, and never a second time. What waits for a person waits at `approval_url`.
    """

    verdict: Verdict
    reason_code: str
    on_fail: OnFail | None
    reasons: list[Reason]
    result: Any = None
    status: str | None = None
    error: str = ""
    call_id: str | None = None
    result_hash: str | None = None
    approval_id: str | None = None
    content_hash: str | None = None
    permit: Permit | None = None
    approval_url: str | None = None


class ProposalAnswer(Answer, frozen=True):
    """What was decided about each candidate."""

    state_snapshot_id: str
    results: list[CandidateAnswer]
    mode: str
    audit_event_id: str


class ToolView(Answer, frozen=True):
    """A tool as registered. `tier` is the one that counts, which policy may have raised."""

    tool_id: str
    tier: TierName
    definition: ToolDefinition
    definition_hash: str


class ToolList(Answer, frozen=True):
    """Tools that agents can ask for."""

    tools: list[ToolView]


class MemoryView(Answer, frozen=True):
    """`confirmed_by` is `witness` where an event of this ledger confirms it, which `witness` tells about.

    It is `sources` where nothing does but the sources that its author named: nobody here has seen those. If
    claims that a person approved and that bear witness have ended since, `doubt` says so, and it is due for
    review.
    """

    entry: MemoryEntry
    confirmed: bool
    remembered_at: str
    expires_at: str | None
    review_due: bool
    confirmed_by: Confirmation | None = None
    witness: Witness | None = None
    doubt: str = ""


class MemoryPage(Answer, frozen=True):
    """Entries of the memory that are in view."""

    entries: list[MemoryView]


class MemoryAnswer(Answer, frozen=True):
    """The entry of the memory as it is now."""

    memory: MemoryView
    audit_event_id: str


class SubstrateRows(Vocabulary):
    """State, proposals, tools, capabilities and memory"""

    show_state = reads(
        f"{SESSION}/state",
        StateAnswer,
        "The symbolic state, now or at a past snapshot",
        query=(Parameter(name="at", kind=Id, summary="A past `state_snapshot_id`"),),
    )
    propose = writes(
        f"{SESSION}/proposals",
        ProposalRequest,
        ProposalAnswer,
        "Arbitrate state changes and tool calls; what is allowed happens, nothing else does",
        errors=(Code.NOT_FOUND,),
        example={
            "provenance": {"source": "agent"},
            "candidates": [
                {"kind": "delta", "patch": {"set": {"goal.next_action": {"v": 1, "kind": "probe"}}}},
                {
                    "kind": "tool_call",
                    "tool_id": "pool.idle_sessions",
                    "args": {},
                    "capability_token": "<the token as it was issued>",
                },
            ],
        },
    )
    show_call = reads(CALL, CallView, "A call that was let through", errors=(Code.NOT_FOUND,))
    begin_call = writes(
        f"{CALL}/begin",
        StartCall,
        CandidateAnswer,
        "Begin a call that was approved and that its caller runs; answered with its permit, once",
        errors=(Code.NOT_FOUND,),
        beside=True,
        example={},
    )
    report_outcome = writes(
        f"{CALL}/outcome",
        OutcomeRequest,
        ReportedOutcome,
        "Report what came of a call that its caller ran",
        errors=(Code.NOT_FOUND,),
        beside=True,
        example={"status": "ok", "result": "the pool was restarted", "cpu_ms": 12},
    )
    list_tools = reads("/v1/tools", ToolList, "Tools and their schemas")
    issue_capability = Operation(
        method="POST",
        path="/v1/capabilities",
        body=CapabilityRequest,
        answer=IssuedCapability,
        status=201,
        notes=True,
        errors=ON_CAPABILITIES,
        command=IssueCapability,
        summary="Give an agent a capability, or narrow one down",
        beside=True,
        example={
            "session_id": "<the session>",
            "agent_id": "agent://triage",
            "scope": {"tools": ["pool.idle_sessions"], "budgets": {"calls": 5}},
            "expires_in_seconds": 600,
        },
    )
    list_capabilities = reads(
        f"{SESSION}/capabilities",
        CapabilityPage,
        "The capabilities of a session, with what is left of them",
        query=PAGE,
    )
    show_capability = reads(
        f"{SESSION}/capabilities/{{capability_id}}",
        CapabilityView,
        "What a capability allows and how much of it is used",
        slashed=True,
        errors=(Code.NOT_FOUND,),
    )
    revoke_capability = Operation(
        method="DELETE",
        path="/v1/capabilities/{capability_id}",
        answer=RevokedCapability,
        slashed=True,
        notes=True,
        errors=ON_CAPABILITIES,
        command=RevokeCapability,
        beside=True,
        summary="End a capability and all that came out of it",
    )
    remember = writes(
        f"{SESSION}/memory",
        MemoryEntry,
        MemoryAnswer,
        "Take an entry into memory, if it is what it says it is",
        status=201,
        errors=(Code.NOT_FOUND,),
        example={
            "memory_id": "pool-is-shared",
            "kind": "hypothesis",
            "value": "checkout and search share one pool",
            "confidence": 0.6,
            "ttl_ms": 86400000,
        },
    )
    list_memory = reads(
        f"{SESSION}/memory",
        MemoryPage,
        "Memory entries with their class",
        query=(
            Parameter(
                name="show",
                kind=Literal["live", "review"],
                default="live",
                summary="Everything that has not expired, or only what is due for review",
            ),
        ),
    )
