"""What can be asked about when a session may act."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.scheduling.state import Kind, Running
from beliefd.kernel.substrate.guarantees import ModeName
from beliefd.kernel.values import ERASABLE, Timestamp, Unit, Value, refuse_impossible

Why = Annotated[str, msgspec.Meta(min_length=1, max_length=2_000, extra=ERASABLE)]


class SetMode(Value, frozen=True, tag_field="verb", tag="SET_MODE"):
    """Set the mode of a session, until a time or until it is set again. Programs can only lower it,
    below what it is at the time."""

    mode: ModeName
    reason: Why
    until: Timestamp | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.until is not UNSET:
            refuse_impossible(self.until, "until")


class Interrupt(Value, frozen=True, tag_field="verb", tag="INTERRUPT"):
    """Stop a session: what waits to run does not begin, and nothing is let through until it is resumed.

    What runs already ends by itself (`drain`), or is cancelled as far as this server runs it (`cancel`).
    `level` is how surprising a surprisal is, 1 unless given.
    """

    kind: Kind
    reason: Why
    running: Running = "drain"
    level: Unit | UnsetType = UNSET


class Resume(Value, frozen=True, tag_field="verb", tag="RESUME"):
    """Let an interrupted session go on; in a new episode, if a person says so."""

    reason: Why


SchedulingCommand = SetMode | Interrupt | Resume
