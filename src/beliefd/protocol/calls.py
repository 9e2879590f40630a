"""What is asked and answered about a call that was let through: its permit, and what came of it."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from beliefd.kernel.labels import Label
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.substrate.tools import Amount
from beliefd.kernel.values import Note, Value
from beliefd.protocol.operation import Answer


class Permit(Answer, frozen=True):
    """Leave to run one call, once, until `expires_at`: these arguments, this tool, under this policy.

    It is given once. Its holder reports what came of it; otherwise the call becomes `unknown`.
    """

    call_id: str
    args_hash: str
    definition_hash: str
    policy_hash: str
    expires_at: str


class OutcomeRequest(Value, frozen=True):
    """What came of a call that its caller ran. `unknown`: the caller does not know whether it ran.

    `structured` is the machine-readable form of a `result` that is a text, `content_type` says what that text
    is. The amounts are what the call used.
    """

    status: Literal["ok", "error", "unknown"]
    result: Any = None
    error: Note = ""
    structured: Any = None
    content_type: Annotated[str, Meta(max_length=200)] | None = None
    tokens: Amount = 0
    cpu_ms: Amount = 0
    disk_bytes: Amount = 0


class ReportedOutcome(Answer, frozen=True):
    """`content` is what was reported, kept as content under its SHA-256; null if it is not kept.

    `label` is `witnessed` if the reporter is a program that results go through, else `attested`.
    """

    call_id: str
    status: str
    result_hash: str | None
    content: str | None
    label: Label | None
    audit_event_id: str


class CallView(Answer, frozen=True):
    """A call that was let through, with all that its permit binds. `outcome` is the event that ended it."""

    call_id: str
    session_id: str
    tool_id: str
    args: dict[str, Any]
    args_hash: str
    definition_hash: str
    policy_hash: str
    agent_id: str
    executor: Literal["server", "caller"]
    status: str
    scheduled_at: str
    deadline: str
    permit: Permit | None
    provenance: Provenance | None
    join_key: str | None
    upstream: str | None
    capability_id: str | None
    idempotency_key: str | None
    result_hash: str | None
    content: str | None
    size: int | None
    label: Label | None
    outcome: str | None
