"""What a session is asked to remember (symbolic-substrate 4.1)."""

from typing import Annotated, Any, Final, Literal

import msgspec

from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.values import Id, Timestamp, Value, nested_deeper, refuse_impossible

MAX_TTL_MS: Final = 100 * 365 * 24 * 3600 * 1000
MAX_MEMORY_DEPTH: Final = 48
"""A state nests an entry deeper than the command that brings it, and both must have a canonical form."""


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
