"""What a proposal is made of: provenance, and candidates that change state or call a tool."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.substrate.capabilities import Narrowing
from beliefd.kernel.values import Id, Object, Timestamp, Upstream, Value, refuse_impossible

Rationale = Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]


FolderPath = Annotated[str, msgspec.Meta(min_length=1, max_length=4096, pattern=r"^/[^\x00]*$")]


class Workspace(Value, frozen=True):
    """The folder that a caller runs its tools in, and the folders that are the user's project."""

    cwd: FolderPath
    roots: Annotated[tuple[FolderPath, ...], msgspec.Meta(max_length=16)] = ()


class Provenance(Value, frozen=True):
    """Where a proposal comes from. A `workspace` counts if policy takes its proposer's word on context."""

    source: Literal["observer", "encoder", "tool", "agent"]
    inputs: tuple[Id, ...] = ()
    permissions: tuple[Id, ...] = ()
    timestamp: Timestamp | None = None
    workspace: Workspace | UnsetType = UNSET

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
