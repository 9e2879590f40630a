"""Proposals and what can be asked of the substrate, as commands."""

from typing import Annotated, Any, Final, Literal

import msgspec

from beliefd.kernel.claims.bundle import Note, Timestamp, refuse_impossible
from beliefd.kernel.substrate.capabilities import Amount, Narrowing, Scope
from beliefd.kernel.values import Id, Object, Value, nested_deeper

MAX_TTL_MS: Final = 100 * 365 * 24 * 3600 * 1000
MAX_MEMORY_DEPTH: Final = 48
"""A state nests an entry deeper than the command that brings it, and both must have a canonical form."""


class Provenance(Value, frozen=True):
    """Where a proposal comes from."""

    source: Literal["observer", "encoder", "tool", "agent"]
    inputs: tuple[Id, ...] = ()
    permissions: tuple[Id, ...] = ()
    timestamp: Timestamp | None = None

    def __post_init__(self) -> None:
        if self.timestamp is not None:
            refuse_impossible(self.timestamp, "timestamp")


class Patch(Value, frozen=True):
    """Changes to F_sparse, made whole or not at all."""

    set: dict[Id, Any] = {}
    remove: tuple[Id, ...] = ()

    def __post_init__(self) -> None:
        if not self.set and not self.remove:
            raise ValueError("the patch is empty")
        if both := sorted(self.set.keys() & set(self.remove)):
            raise ValueError(f"`{both[0]}` is both set and removed")


class DeltaCandidate(Value, frozen=True, tag_field="kind", tag="delta"):
    patch: Patch


class CallCandidate(Value, frozen=True, tag_field="kind", tag="tool_call"):
    """`capability_id` stands for the token: the token itself is a secret and stays out of the ledger.

    `narrowed` is what the holders of a signed token have narrowed it down to, one after the other.
    """

    tool_id: Id
    args: Object = {}
    capability_id: Id | None = None
    idempotency_key: Id | None = None
    narrowed: tuple[Narrowing, ...] = ()


Candidate = DeltaCandidate | CallCandidate


class Propose(Value, frozen=True, tag_field="verb", tag="PROPOSE"):
    """Candidate actions and state changes, judged one after the other."""

    provenance: Provenance
    candidates: Annotated[tuple[Candidate, ...], msgspec.Meta(min_length=1, max_length=100)]
    state_snapshot_id: Id | None = None


class RecordOutcome(Value, frozen=True, tag_field="verb", tag="RECORD_OUTCOME"):
    """What became of a call that was let through. Unknown means: nobody knows whether it ran."""

    call_id: Id
    status: Literal["ok", "error", "unknown"]
    result: Any = None
    error: Note = ""
    tokens: Amount = 0
    cpu_ms: Amount = 0
    disk_bytes: Amount = 0


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


class MemoryEntry(Value, frozen=True):
    """Something to remember, with how sure it is and when it must be looked at again."""

    memory_id: Id
    kind: Literal["fact", "preference", "decision", "hypothesis", "derived"]
    value: Any
    confidence: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
    source_chunk_ids: tuple[Id, ...] = ()
    confirmed_by_event_id: Id | None = None
    review_at: Timestamp | None = None
    ttl_ms: Annotated[int, msgspec.Meta(ge=1, le=MAX_TTL_MS)] | None = None
    conflict_state: Literal["none", "contested", "contradictory"] = "none"
    provenance: Provenance | None = None

    def __post_init__(self) -> None:
        if self.review_at is not None:
            refuse_impossible(self.review_at, "review_at")
        if nested_deeper(self.value, MAX_MEMORY_DEPTH):
            raise ValueError(f"nested deeper than {MAX_MEMORY_DEPTH} levels, in field `value`")


class Remember(Value, frozen=True, tag_field="verb", tag="REMEMBER"):
    """Put an entry into the session's memory, or a newer version of it."""

    entry: MemoryEntry
