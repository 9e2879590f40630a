"""Where something comes from, as who brings it says, and which role may say what (FACTS: provenance)."""

from typing import Annotated, Final, Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.values import PEOPLE, Id, Role, Timestamp, Value, refuse_impossible

FolderPath = Annotated[str, msgspec.Meta(min_length=1, max_length=4096, pattern=r"^/[^\x00]*$")]
Source = Literal["observer", "encoder", "tool", "agent"]
SOURCES: Final[tuple[Source, ...]] = get_args(Source)


class Workspace(Value, frozen=True):
    """The folder that a caller runs its tools in, and the folders that are the user's project."""

    cwd: FolderPath
    roots: Annotated[tuple[FolderPath, ...], msgspec.Meta(max_length=16)] = ()


class Provenance(Value, frozen=True):
    """Where something comes from. `inputs` are the records that it was made from, `permissions` the
    capabilities that its author holds for it.

    A `workspace` counts if policy takes its proposer's word on context.
    """

    source: Source
    inputs: tuple[Id, ...] = ()
    permissions: tuple[Id, ...] = ()
    timestamp: Timestamp | None = None
    workspace: Workspace | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.timestamp is not None:
            refuse_impossible(self.timestamp, "timestamp")


CLAIMED_BY: Final[dict[Source, frozenset[Role]]] = {
    "observer": frozenset({Role.ENCODER, Role.TOOL, *PEOPLE}),
    "encoder": frozenset({Role.ENCODER}),
    "tool": frozenset({Role.TOOL}),
    "agent": frozenset(Role),
}
"""Who may say that something comes from there. `agent` is the least that can be said, so everybody may."""


def source_of(role: Role) -> Source:
    """What is written down of who says nothing: the role's own name, and `agent` for people, who act."""
    return next((one for one in SOURCES if one == role.value), "agent")


class ProvenancePolicy(Value, frozen=True):
    """How far it is checked where proposals and memory entries say that they come from.

    `sources: by_role` takes from each role what that role is; `inputs: known` refuses inputs that are no
    record of the session; `permissions: held` refuses capabilities that who speaks does not hold. With `any`,
    everybody's word is taken. `capabilities: traced` writes into each capability under which policy it was
    issued, and at whose word.
    """

    sources: Literal["by_role", "any"] = "by_role"
    inputs: Literal["known", "any"] = "known"
    permissions: Literal["held", "any"] = "held"
    capabilities: Literal["traced", "plain"] = "traced"
