"""What can happen in the substrate."""

from typing import Any, Literal

from beliefd.kernel.claims.approvals import Approval
from beliefd.kernel.happening import Happening
from beliefd.kernel.substrate.capabilities import Capability
from beliefd.kernel.substrate.constraints import OnFail, Reason
from beliefd.kernel.substrate.proposals import MemoryEntry, Patch
from beliefd.kernel.substrate.tools import FileUse
from beliefd.kernel.values import Value

Verdict = Literal["allow", "deny", "defer"]
CallStatus = Literal["scheduled", "ok", "error", "unknown"]


class Call(Value, frozen=True):
    """A tool call that was let through: the audited envelope around its execution.

    `files` is where its paths led when it was judged, `outcome` the event that told how it ended.
    """

    call_id: str
    tool_id: str
    args: dict[str, Any]
    args_hash: str
    definition_hash: str
    agent_id: str
    state_snapshot_id: str
    policy_hash: str
    scheduled_at: str
    deadline: str
    files: tuple[FileUse, ...] = ()
    capability_id: str | None = None
    idempotency_key: str | None = None
    status: CallStatus = "scheduled"
    result_hash: str | None = None
    outcome: str | None = None


class CandidateResult(Value, frozen=True):
    """The verdict on one candidate, with every reason. `call` and `patch` are what it lets happen."""

    verdict: Verdict
    reason_code: str
    on_fail: OnFail | None = None
    reasons: tuple[Reason, ...] = ()
    call: Call | None = None
    patch: Patch | None = None
    repeats: str | None = None
    approval: Approval | None = None


class ModeChange(Value, frozen=True):
    mode: str
    since: str


class Arbitrated(Happening, frozen=True, tag="arbitrated"):
    """A proposal was judged; what was allowed takes effect with this event, and nothing else does."""

    event_id: str
    state_snapshot_id: str
    results: tuple[CandidateResult, ...]
    mode: ModeChange | None = None


class OutcomeRecorded(Happening, frozen=True, tag="outcome_recorded"):
    call: Call
    result: Any = None
    error: str = ""
    tokens: int = 0
    cpu_ms: int = 0
    disk_bytes: int = 0


class CapabilityIssued(Happening, frozen=True, tag="capability_issued"):
    capability: Capability


class CapabilityRevoked(Happening, frozen=True, tag="capability_revoked"):
    capability: Capability


class Remembered(Happening, frozen=True, tag="remembered"):
    """An entry was taken in, as `confirmed` or not; `remembered_at` starts its time to live.

    `seen` is all the evidence that was ever named for it.
    """

    entry: MemoryEntry
    confirmed: bool
    remembered_at: str
    expires_at: str | None = None
    seen: tuple[str, ...] = ()
