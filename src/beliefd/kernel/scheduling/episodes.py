"""Episodes: what a session does between two rests, counted against the budgets that policy gives them.

An episode begins with the first proposal after the last one ended. All of it follows from the ledger: what is
used is in the state, the time is a recorded fact.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.scheduling.policy import EpisodePolicy
from beliefd.kernel.scheduling.state import BUDGET, Episode, EpisodeChange, Interruption
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.modes import rounded_share
from beliefd.kernel.values import later, seconds

COUNTED: Final = tuple(name for name in Episode.__struct_fields__ if name != "since")
BY_POLICY: Final = "policy"


def limits_of(policy: Policy, mode: str) -> dict[str, int]:
    """What an episode may take in a mode, as far as policy limits it; 1 at least, even of a share of 0."""
    if policy.scheduling is UNSET:
        return {}
    given = policy.scheduling.episode
    named = {name: getattr(given, name) for name in ("wall_seconds", *COUNTED)}
    return {
        name: max(1, rounded_share(limit, mode, policy)) for name, limit in named.items() if limit is not None
    }


def used_of(episode: Episode, now: str) -> dict[str, float]:
    used: dict[str, float] = {name: getattr(episode, name) for name in COUNTED}
    return used | {"wall_seconds": max(0.0, seconds(now) - seconds(episode.since))}


def next_episode(session: Session, facts: Facts, mode: str, candidates: int) -> EpisodeChange | UnsetType:
    """The episode that a proposal of so many candidates is part of; used up, if it does not fit into it."""
    limits = limits_of(facts.policy, mode)
    if not limits:
        # One that another policy began, or a rest that is over, is not carried on.
        over = session.scheduling.episode is not None or session.scheduling.interruption is not None
        return EpisodeChange() if over else UNSET
    before = session.scheduling.episode or Episode(since=facts.now)
    if (problem := _exceeded(before, limits, facts.now, candidates)) is not None:
        return EpisodeChange(interruption=_rest(problem, facts))
    counted = replace(
        before, candidates=before.candidates + candidates, planning_depth=before.planning_depth + 1
    )
    return EpisodeChange(episode=counted)


def _exceeded(before: Episode, limits: dict[str, int], now: str, candidates: int) -> str | None:
    """The budget that a proposal does not fit into.

    INVARIANT: the first proposal of an episode is judged, however small the budgets: else none ever were.
    """
    if before.planning_depth == 0:
        return None
    used = used_of(before, now)
    wanted = {"candidates": candidates, "planning_depth": 1}
    for name, limit in limits.items():
        # What is used up leaves nothing; what is counted beforehand must fit.
        full = used[name] + wanted[name] > limit if name in wanted else used[name] >= limit
        if full:
            return f"the episode has used up its `{name}`: {int(used[name])} of {limit}"
    return None


def _rest(problem: str, facts: Facts) -> Interruption:
    assert facts.policy.scheduling is not UNSET  # noqa: S101 - it has limits
    given: EpisodePolicy = facts.policy.scheduling.episode
    ends = UNSET if given.rest_seconds is None else later(facts.now, given.rest_seconds)
    return Interruption(kind=BUDGET, reason=problem, by=BY_POLICY, by_person=False, at=facts.now, until=ends)


def with_calls(
    change: EpisodeChange | UnsetType, results: Sequence[CandidateResult]
) -> EpisodeChange | UnsetType:
    """The same after the verdicts: a proposal that has a call let through is one of tools."""
    if change is UNSET or change.episode is None:
        return change
    if not any(one.call is not None or one.started is not UNSET for one in results):
        return change
    episode = replace(change.episode, tool_depth=change.episode.tool_depth + 1)
    return replace(change, episode=episode)
