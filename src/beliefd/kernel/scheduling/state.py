"""What scheduling leaves behind: an interruption, the wakes before it, and the episode under way."""

from typing import Final, Literal

from msgspec import UNSET, UnsetType

from beliefd.kernel.parts import Part
from beliefd.kernel.values import Value

Kind = Literal["surprisal", "goal_conflict", "user_intent", "policy_deadline"]
Running = Literal["drain", "cancel"]
BUDGET: Final = "budget"
"""The kind of an interruption that nobody asked for: an episode was used up."""


class Interruption(Value, frozen=True):
    """Since `at`, nothing is let through in a session; `until` is when that ends by itself, if it does.

    `by_person` if a person has said so: then only people resume it.
    """

    kind: Literal["surprisal", "goal_conflict", "user_intent", "policy_deadline", "budget"]
    reason: str
    by: str
    by_person: bool
    at: str
    until: str | UnsetType = UNSET


class Episode(Value, frozen=True):
    """What has been used of the budgets of an episode that began at `since`."""

    since: str
    candidates: int = 0
    planning_depth: int = 0
    tool_depth: int = 0
    tokens: int = 0


class Scheduling(Part, frozen=True):
    """`wakes` are the times of earlier interrupts that still count. `excited`: a surprisal has interrupted,
    and no level was told since that is low enough to do so again."""

    interruption: Interruption | None = None
    wakes: tuple[str, ...] = ()
    excited: bool = False
    episode: Episode | None = None


class EpisodeChange(Value, frozen=True):
    """The episode after a proposal, and the interruption that it leads to if it is used up."""

    episode: Episode | None = None
    interruption: Interruption | None = None
