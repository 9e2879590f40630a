"""What can happen in the substrate."""

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from beliefd.kernel.approvals.state import Approval, Shaped
from beliefd.kernel.context.state import ContextRecord
from beliefd.kernel.event import EventBase
from beliefd.kernel.scheduling.state import EpisodeChange
from beliefd.kernel.substrate.capabilities import Capability
from beliefd.kernel.substrate.constraints import OnFail, Reason
from beliefd.kernel.substrate.dense import VectorRef
from beliefd.kernel.substrate.derived import Derivation
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.proposals import Patch
from beliefd.kernel.substrate.state import Confirmation, LoweredBy, ToolCall
from beliefd.kernel.substrate.tools import Witness
from beliefd.kernel.values import Value

Verdict = Literal["allow", "deny", "defer"]


class CandidateResult(Value, frozen=True):
    """The verdict on one candidate, with every reason. `call` and `patch` are what it lets happen.

    A call that a person has said yes to is `started` by its caller proposing it again, or `stopped` if it may
    not begin any more. `asks` is the digest of what the `approval` is about, if its caller will run it, and
    `waits` the item of the inbox in which the same was asked before. Where it was found out where the values
    of a call came from, `refused_sinks` are the addresses that it does not reach. `derived` is what rules
    make of the `patch`, `vector` names its dense side. `shaped` says who proposed what was not let through,
    where no `approval` says it.
    """

    verdict: Verdict
    reason_code: str
    on_fail: OnFail | None = None
    reasons: tuple[Reason, ...] = ()
    call: ToolCall | None = None
    patch: Patch | None = None
    repeats: str | None = None
    approval: Approval | None = None
    started: ToolCall | UnsetType = UNSET
    stopped: ToolCall | UnsetType = UNSET
    asks: str | UnsetType = UNSET
    waits: str | UnsetType = UNSET
    refused_sinks: tuple[str, ...] | UnsetType = UNSET
    derived: Derivation | UnsetType = UNSET
    vector: VectorRef | UnsetType = UNSET
    shaped: Shaped | UnsetType = UNSET


class ModeChange(Value, frozen=True):
    """`over` if the time of the mode that a person had set is up; `by` if it was lowered, at whose word."""

    mode: str
    since: str
    over: bool | UnsetType = UNSET
    by: LoweredBy | UnsetType = UNSET


class Arbitrated(EventBase, frozen=True, tag="arbitrated"):
    """A proposal was judged; what was allowed takes effect with this event, and nothing else does.

    `issued` are the capabilities that policy issues to the proposer for these calls, of which it had none.
    `derived` is what the rules of the policy make of the state that was left by others.
    `episode` is what it makes of the session's episode, where policy gives episodes budgets.
    """

    event_id: str
    state_snapshot_id: str
    results: tuple[CandidateResult, ...]
    mode: ModeChange | None = None
    issued: tuple[Capability, ...] | UnsetType = UNSET
    derived: Derivation | UnsetType = UNSET
    episode: EpisodeChange | UnsetType = UNSET


class CallStarted(EventBase, frozen=True, tag="call_started"):
    """A call was judged once more and begins; what it may use is reserved."""

    call: ToolCall


class CallStopped(EventBase, frozen=True, tag="call_stopped"):
    """A call that was let through may not begin any more; `result` says why. It never ran."""

    call: ToolCall
    result: CandidateResult
    mode: ModeChange | None = None


class OutcomeRecorded(EventBase, frozen=True, tag="outcome_recorded"):
    """`context` is its result as something that the agent was told, where policy asks for that."""

    call: ToolCall
    result: Any = None
    error: str = ""
    tokens: int = 0
    cpu_ms: int = 0
    disk_bytes: int = 0
    context: ContextRecord | UnsetType = UNSET


class CapabilityIssued(EventBase, frozen=True, tag="capability_issued"):
    """`issued` is what policy issues to who asks, and what the capability comes out of."""

    capability: Capability
    issued: tuple[Capability, ...] | UnsetType = UNSET


class CapabilityRevoked(EventBase, frozen=True, tag="capability_revoked"):
    """A capability has ended."""

    capability: Capability


class Remembered(EventBase, frozen=True, tag="remembered"):
    """An entry was taken in, as `confirmed` or not; `remembered_at` starts its time to live.

    `confirmed_by` says whether a `witness` of this ledger confirms it, or sources that its author names and
    nobody here has seen. `seen` is all the evidence that was ever named for it. `insufficient` is all that
    was ever named for its value, which has the `value_hash`, while that was provisional.
    """

    entry: MemoryEntry
    confirmed: bool
    remembered_at: str
    expires_at: str | None = None
    seen: tuple[str, ...] = ()
    confirmed_by: Confirmation | None = None
    witness: Witness | None = None
    value_hash: str = ""
    insufficient: tuple[str, ...] = ()


SubstrateEvent = (
    Arbitrated
    | CallStarted
    | CallStopped
    | OutcomeRecorded
    | CapabilityIssued
    | CapabilityRevoked
    | Remembered
)
