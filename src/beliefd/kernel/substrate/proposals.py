"""What a proposal is made of beside its provenance: candidates that change state or call a tool."""

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.substrate.capabilities import Narrowing
from beliefd.kernel.substrate.dense import DeltaVector
from beliefd.kernel.values import Id, Object, Upstream, Value

Rationale = Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]


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
    """A change of F_sparse. `delta_vector` is its dense side, which no rule reads, `rationale` why its agent
    wants it, which people read."""

    patch: Patch
    delta_vector: DeltaVector | UnsetType = UNSET
    rationale: Rationale | UnsetType = UNSET


class CallCandidate(Value, frozen=True, tag_field="kind", tag="tool_call"):
    """`capability_id` stands for the token: the token itself is a secret and stays out of the ledger.

    `narrowed` is what the holders of a signed token have narrowed it down to, one after the other. `join_key`
    is what other programs know the call by, `upstream` the catalogue that its tool is pinned in, `rationale`
    why its agent wants it.
    """

    tool_id: Id
    args: Object = {}
    capability_id: Id | None = None
    idempotency_key: Id | None = None
    narrowed: tuple[Narrowing, ...] = ()
    join_key: Id | UnsetType = UNSET
    upstream: Upstream | UnsetType = UNSET
    rationale: Rationale | UnsetType = UNSET


Candidate = DeltaCandidate | CallCandidate

C = TypeVar("C", bound=Candidate)


def without_vector(candidate: C) -> C:
    """A candidate as rules and people see it."""
    if isinstance(candidate, DeltaCandidate) and candidate.delta_vector is not UNSET:
        return replace(candidate, delta_vector=UNSET)
    return candidate
