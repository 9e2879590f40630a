"""What callers get back about the symbolic state, proposals, tools, capabilities and memory."""

from typing import Any

from beliefd.kernel.substrate.capabilities import Scope, Used
from beliefd.kernel.substrate.constraints import OnFail, Reason
from beliefd.kernel.substrate.events import Verdict
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.protocol.answers import Answer


class StateAnswer(Answer, frozen=True):
    """F_sparse at a snapshot: what was proposed and committed, and the constraints of the policy in force."""

    state_snapshot_id: str
    state_version: int
    f_sparse: dict[str, Any]
    mode: str
    seq: int
    policy_hash: str


class CandidateAnswer(Answer, frozen=True):
    """The verdict on one candidate. `result` is what an allowed call returned."""

    verdict: Verdict
    reason_code: str
    on_fail: OnFail | None
    reasons: list[Reason]
    result: Any = None
    status: str | None = None
    error: str = ""
    call_id: str | None = None
    approval_id: str | None = None
    content_hash: str | None = None


class ProposalAnswer(Answer, frozen=True):
    state_snapshot_id: str
    results: list[CandidateAnswer]
    mode: str
    audit_event_id: str


class ToolView(Answer, frozen=True):
    tool_id: str
    definition: ToolDefinition
    definition_hash: str


class ToolList(Answer, frozen=True):
    tools: list[ToolView]


class CapabilityView(Answer, frozen=True):
    """A capability without its secret."""

    capability_id: str
    session_id: str
    agent_id: str
    scope: Scope
    used: Used
    issued_at: str
    expires_at: str
    issued_by: str
    parent: str | None
    revoked_at: str | None


class IssuedCapability(Answer, frozen=True):
    """`token` is shown here and never again. A signed one can be verified with `public_key`."""

    token: str
    capability: CapabilityView
    public_key: str | None = None


class MemoryView(Answer, frozen=True):
    entry: MemoryEntry
    confirmed: bool
    remembered_at: str
    expires_at: str | None
    review_due: bool


class MemoryPage(Answer, frozen=True):
    entries: list[MemoryView]


class MemoryAnswer(Answer, frozen=True):
    memory: MemoryView
    audit_event_id: str
