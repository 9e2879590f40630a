"""What the substrate leaves behind: symbolic state, calls, capabilities, memory, mode."""

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from beliefd.kernel.labels import Label
from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.substrate.capabilities import Amounts, Capability, Narrowing
from beliefd.kernel.substrate.dense import VectorRef
from beliefd.kernel.substrate.derived import Source
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.kernel.substrate.tools import Executor, FileUse, Qos, Witness
from beliefd.kernel.values import Count, Digest, Principal, Value

CallStatus = Literal["scheduled", "running", "stopped", "ok", "error", "unknown"]
Confirmation = Literal["witness", "sources"]
NORMAL_MODE: Final = "normal"
BOOST: Final = "boost"
"""The only mode that leaves more than normal."""
GENESIS_SNAPSHOT: Final = "genesis"
"""The name of the empty F_sparse that every session begins with."""


class SetModeRecord(Value, frozen=True):
    """A mode that a person has set: who, why, since when, and until when if it ends by itself."""

    mode: str
    by: str
    reason: str
    since: str
    until: str | UnsetType = UNSET


class LoweredBy(Value, frozen=True):
    """Who lowered a mode, and why: a program that said so, or whose proposal a constraint degraded it for."""

    by: str
    reason: str


class Basis(Value, frozen=True):
    """What a call was let through on and is judged on again when it begins.

    `consent` are the constraints that a person said yes to, each with its hash. `nth` is how many calls of
    the tool there were before it, where that was found out: those after it do not count against it.
    """

    proposer: Principal
    narrowed: tuple[Narrowing, ...] = ()
    consent: dict[str, str] | None = None
    nth: int | UnsetType = UNSET


class Reported(Value, frozen=True):
    """A result that a caller reported: its digest and size, and whether it is `kept` as content."""

    content: Digest
    size: Count
    kept: bool = True


class ToolCall(Value, frozen=True):
    """A tool call that was let through: the audited envelope around its execution.

    `files` is where its paths led when it was judged, `outcome` the event that told how it ended.
    `reserved` is what was set aside for it when it began. Calls without a `basis` are older than the rule
    that every call is judged again when it begins.

    A call with an `executor` is run by who proposed it: while it is running it is their permit, which ends at
    its `deadline`. What they then `reported` has the `label` that their word has. `qos` is the class that it
    waits in for its turn, `interactive` unless said.
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
    basis: Basis | UnsetType = UNSET
    reserved: Amounts | UnsetType = UNSET
    executor: Executor | UnsetType = UNSET
    join_key: str | UnsetType = UNSET
    upstream: str | UnsetType = UNSET
    provenance: Provenance | UnsetType = UNSET
    reported: Reported | UnsetType = UNSET
    label: Label | UnsetType = UNSET
    qos: Qos | UnsetType = UNSET

    @property
    def is_run_by_caller(self) -> bool:
        return self.executor is not UNSET

    @property
    def is_under_way(self) -> bool:
        """Something may still come of it."""
        return self.status in ("scheduled", "running")


class MemoryState(Struct, frozen=True):
    """An entry as it stands in memory, and what confirms it."""

    entry: MemoryEntry
    confirmed: bool
    remembered_at: str
    expires_at: str | None = None
    seen: tuple[str, ...] = ()
    confirmed_by: Confirmation | None = None
    witness: Witness | None = None


class Substrate(Part, frozen=True):
    """The symbolic part of a session.

    `snapshots` are the versions of the symbolic state by the event that made each, `written` the version in
    which a key was last written, `call_keys` the calls by tool and idempotency key. `insufficient` is, by the
    hash of a value that was remembered as provisional, the evidence that was named for it then. `costs` is
    the most that a call of each tool has used, `issued` what policy has issued, by rule and holder. `asked`
    is, by the digest of a call that its caller runs, the item of the inbox in which it was asked about last.
    `derived` says of facts in the symbolic state which rule they come from, `derived_under` which rules those
    were, and `derived_size` how many bytes these facts take up.
    `s_core` names the vector of the newest change that had one.
    `set_mode` is the mode that a person has set, `lowered_mode` what it was lowered to from there,
    and `lowered_by` at whose word.
    """

    symbolic_state: SymbolicState = msgspec.field(default=SymbolicState(), name="sparse")
    state_version: int = 0
    committed: str = ""
    snapshots: Growing[int] = EMPTY
    written: Growing[int] = EMPTY
    lowered_mode: str = ""
    mode_since: str = ""
    calls: Growing[ToolCall] = EMPTY
    call_keys: Growing[str] = EMPTY
    capabilities: Growing[Capability] = EMPTY
    memory: Growing[MemoryState] = EMPTY
    insufficient: Growing[tuple[str, ...]] = EMPTY
    costs: Growing[Amounts] = EMPTY
    issued: Growing[str] = EMPTY
    asked: Growing[str] = EMPTY
    derived: Growing[Source] = EMPTY
    derived_under: str = ""
    derived_size: int = 0
    s_core: VectorRef | None = None
    set_mode: SetModeRecord | None = None
    lowered_by: LoweredBy | None = None

    @property
    def state_snapshot_id(self) -> str:
        """The event that last changed F_sparse names its snapshot."""
        return self.committed or GENESIS_SNAPSHOT

    @property
    def mode(self) -> str:
        """The mode as the last event left it; `modes.mode_at` knows what time has made of it."""
        return self.lowered_mode or (NORMAL_MODE if self.set_mode is None else self.set_mode.mode)
