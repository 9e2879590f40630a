"""What can be asked of the substrate."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.substrate.capabilities import Scope
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.proposals import Candidate
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.substrate.state import Reported
from beliefd.kernel.substrate.tools import Amount, Executor, Qos
from beliefd.kernel.values import Id, Note, Value


class Propose(Value, frozen=True, tag_field="verb", tag="PROPOSE"):
    """Candidate actions and state changes, judged one after the other.

    With `execute`, its calls are of tools that their caller runs: the first that is allowed begins at once,
    and those after it wait until their caller begins them, one by one. `qos` is the class that its calls wait
    in for their turn, `interactive` unless said.
    """

    provenance: Provenance
    candidates: Annotated[tuple[Candidate, ...], msgspec.Meta(min_length=1, max_length=100)]
    state_snapshot_id: Id | None = None
    execute: Executor | UnsetType = UNSET
    qos: Qos | UnsetType = UNSET


class StartCall(Value, frozen=True, tag_field="verb", tag="START_CALL"):
    """Begin a call that was let through, if it still may. Nothing runs before this is decided."""

    call_id: Id


class RecordOutcome(Value, frozen=True, tag_field="verb", tag="RECORD_OUTCOME"):
    """What became of a call that was let through. Unknown means: nobody knows whether it ran.

    Of a call that its caller ran, the result is `reported`: it is kept beside the ledger.
    """

    call_id: Id
    status: Literal["ok", "error", "unknown"]
    result: Any = None
    error: Note = ""
    tokens: Amount = 0
    cpu_ms: Amount = 0
    disk_bytes: Amount = 0
    reported: Reported | UnsetType = UNSET


class IssueCapability(Value, frozen=True, tag_field="verb", tag="ISSUE_CAPABILITY"):
    """Give an agent a capability; with `parent`, a narrower one out of its own."""

    agent_id: Id
    scope: Scope
    expires_in_seconds: Annotated[int, msgspec.Meta(ge=1, le=30 * 24 * 3600)]
    secret_hash: Id
    parent: Id | None = None


class RevokeCapability(Value, frozen=True, tag_field="verb", tag="REVOKE_CAPABILITY"):
    """End a capability and all that came out of it."""

    capability_id: Id


class Remember(Value, frozen=True, tag_field="verb", tag="REMEMBER"):
    """Put an entry into the session's memory, or a newer version of it."""

    entry: MemoryEntry


SubstrateCommand = Propose | StartCall | RecordOutcome | IssueCapability | RevokeCapability | Remember
