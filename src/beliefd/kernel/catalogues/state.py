"""What is pinned of a catalogue: definitions of tools, and those that wait for a person."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.canonical import digest
from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.values import Id, Value

CATALOGUE: Final = "catalogue-"
"""What the id of a session begins with that holds a catalogue."""
MAX_DESCRIPTION: Final = 100_000


class OfferedTool(Value, frozen=True):
    """A tool as its server describes it. `annotations` are hints: they may raise a tier, never lower it."""

    name: Id
    description: Annotated[str, msgspec.Meta(max_length=MAX_DESCRIPTION)] = ""
    input_schema: dict[str, Any] = {}
    output_schema: dict[str, Any] | UnsetType = UNSET
    annotations: dict[str, Any] | UnsetType = UNSET

    @property
    def hash(self) -> str:
        return digest(msgspec.to_builtins(self))

    def hints(self, name: str) -> bool | None:
        """What an annotation says; None if it says nothing that can be understood."""
        found = (self.annotations or {}).get(name)
        return found if isinstance(found, bool) else None


class Pinned(Value, frozen=True):
    """A definition that counts from `pinned_at` on."""

    tool: OfferedTool
    hash: str
    pinned_at: str


class Waiting(Value, frozen=True):
    """Another definition was offered, and a person is asked in this item of the inbox."""

    hash: str
    approval_id: str


class Catalogue(Part, frozen=True):
    """The tools of one catalogue, by name.

    INVARIANT: a tool of which another definition waits, or was rejected, is not there: nobody knows which of
    the two its server would run.
    """

    pins: Growing[Pinned] = EMPTY
    offered: Growing[Waiting] = EMPTY

    def pinned(self, name: str) -> Pinned | None:
        return None if name in self.offered else self.pins.get(name)

    def with_pin(self, pin: Pinned) -> "Catalogue":
        name = pin.tool.name
        return replace(self, pins=self.pins.insert(name, pin), offered=self.offered.discard(name))
