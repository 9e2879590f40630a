"""What a policy says of episodes and interrupts."""

from typing import Annotated

import msgspec

from beliefd.kernel.values import Unit, Value

Many = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
Pause = Annotated[int, msgspec.Meta(ge=0, le=10 * 365 * 24 * 3600)]


class EpisodePolicy(Value, frozen=True):
    """How much one episode of a session may take; what is not given is not limited.

    An episode begins with the first proposal after the last one ended. `wall_seconds` is its time,
    `candidates` how many it may have judged, `planning_depth` how many proposals, `tool_depth` how many of
    those may have calls let through, `tokens` what its calls may use. What is used up ends it for every
    proposal, also for those without calls. The mode's `budget_share` is taken of each, 1 at least. With
    `rest_seconds`, the next episode may begin so long after one was used up; without, it takes somebody who
    resumes.
    """

    wall_seconds: Many | None = None
    candidates: Many | None = None
    planning_depth: Many | None = None
    tool_depth: Many | None = None
    tokens: Many | None = None
    rest_seconds: Pause | None = None


class InterruptPolicy(Value, frozen=True):
    """How often the programs of one owner may interrupt. People always may.

    From one interrupt to the next it takes `cooldown_seconds`, and there are at most `wakes` in
    `window_seconds`. A surprisal interrupts at a level of `rising` or more, and then not again before one of
    `falling` or less was told. Where `falling` is not below `rising`, every level from there on interrupts.
    """

    cooldown_seconds: Pause = 0
    wakes: Annotated[int, msgspec.Meta(ge=1, le=1_000)] | None = None
    window_seconds: Annotated[int, msgspec.Meta(ge=1, le=30 * 24 * 3600)] = 3600
    rising: Unit = 0.0
    falling: Unit = 0.0

    def __post_init__(self) -> None:
        if self.falling > self.rising:
            raise ValueError("`falling` is larger than `rising`: a level could interrupt and calm at once")


class SchedulingPolicy(Value, frozen=True):
    """Budgets of episodes, and how often programs may interrupt."""

    episode: EpisodePolicy = EpisodePolicy()
    interrupts: InterruptPolicy = InterruptPolicy()


NO_SCHEDULING = SchedulingPolicy()
