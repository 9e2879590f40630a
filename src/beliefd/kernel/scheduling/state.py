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

    `by_person` if a person has said so: then only people resume it. `owner` is whose program it was that
    said so, and that may resume it; those that do not say are older, or nobody asked for them.
    """

    kind: Literal["surprisal", "goal_conflict", "user_intent", "policy_deadline", "budget"]
    reason: str
    by: str
    by_person: bool
    at: str
    until: str | UnsetType = UNSET
    owner: str | UnsetType = UNSET


class Raised(Value, frozen=True):
    """What the programs of one owner have raised. `wakes` are the times of interrupts that still count.
    `excited`: a surprisal has interrupted, and no level was told since that is low enough to do so again."""

    wakes: tuple[str, ...] = ()
    excited: bool = False


class Episode(Value, frozen=True):
    """What has been used of the budgets of an episode that began at `since`."""

    since: str
    candidates: int = 0
    planning_depth: int = 0
    tool_depth: int = 0
    tokens: int = 0


class Scheduling(Part, frozen=True):
    """`raised` is what was raised, by the owners of the programs that did. `wakes` and `excited` are the same
    for all together, from ledgers that did not tell them apart."""

    interruption: Interruption | None = None
    raised: dict[str, Raised] = {}
    wakes: tuple[str, ...] = ()
    excited: bool = False
    episode: Episode | None = None


class EpisodeChange(Value, frozen=True):
    """The episode after a proposal, and the interruption that it leads to if it is used up."""

    episode: Episode | None = None
    interruption: Interruption | None = None
