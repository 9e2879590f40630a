"""What can happen to when a session may act."""

from typing import Literal

from msgspec import UNSET, UnsetType

from beliefd.kernel.event import EventBase
from beliefd.kernel.scheduling.state import Interruption, Kind
from beliefd.kernel.substrate.events import ModeChange
from beliefd.kernel.substrate.state import SetModeRecord, ToolCall


class ModeSet(EventBase, frozen=True, tag="mode_set"):
    """The mode that a person has set, null for `normal`; or one step or more down, where a program asked."""

    set_mode: SetModeRecord | None = None
    lowered: ModeChange | UnsetType = UNSET


class Interrupted(EventBase, frozen=True, tag="interrupted"):
    """Nothing is let through from now on. `stopped` never began, and never will.

    `cancelled` run on the server and are asked to end, `elsewhere` are run by their callers, whom nobody can
    stop. `wakes` are the times of interrupts that count, this one included. They and `excited` are those of
    the interruption's `owner`, if it has one. People have none: no limit holds for them. `carries`: a program
    has said so, and the episode under way is not over by that.
    """

    interruption: Interruption
    wakes: tuple[str, ...] = ()
    excited: bool = False
    stopped: tuple[ToolCall, ...] = ()
    cancelled: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    carries: bool | UnsetType = UNSET


class SignalNoted(EventBase, frozen=True, tag="signal_noted"):
    """A program's signal that does not interrupt; `why` not. `excited` is how it leaves its `owner`; the
    session, where none is named."""

    signal: Kind
    why: Literal["below", "not_calmed", "cooldown", "window", "interrupted"]
    message: str
    excited: bool = False
    owner: str | UnsetType = UNSET


class Resumed(EventBase, frozen=True, tag="resumed"):
    """The session goes on: `ended` is what had interrupted it. `carries`: in the episode that it was in."""

    ended: Interruption
    carries: bool | UnsetType = UNSET


SchedulingEvent = ModeSet | Interrupted | SignalNoted | Resumed
