"""Episodes: what a session does between two rests has budgets; what is used up is recorded, and ends it."""

from typing import Any

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.events import Arbitrated
from beliefd.testing.world import policy, refused
from beliefd.tools.registry import ToolResult
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, one, tool_call


def episodes(**budgets: Any) -> Policy:
    return policy(constraints={"constraint.all": ALLOW_ALL}, scheduling={"episode": budgets})


def verdicts(house: ToolWorld, session: str, times: int, *candidates: Any) -> list[str]:
    asked = candidates or (delta(goal__x=1),)
    return [house.agent.propose(session, list(asked)).results[0].reason_code for _ in range(times)]


def test_tools_that_are_used_up_end_it_for_proposals_without_calls_too(build: Build) -> None:
    house = build(policy=episodes(tool_depth=1))
    session = house.session()
    assert verdicts(house, session, 1, tool_call("note.read", house.token(session))) == ["ALLOWED"]
    assert verdicts(house, session, 1) == ["INTERRUPTED"]
    house.check(session)


@pytest.mark.parametrize(
    ("budget", "passes"),
    [({"planning_depth": 3}, 3), ({"candidates": 4}, 2), ({"tool_depth": 2}, 2), ({"tokens": 25}, 3)],
)
def test_a_budget_that_is_used_up_ends_the_episode(build: Build, budget: dict[str, int], passes: int) -> None:
    house = build(policy=episodes(**budget))
    house.toolbox.add("think", lambda: ToolResult("so", tokens=10), network=False)
    session = house.session()
    asked = [tool_call("think", house.token(session)), delta(goal__x=1)]
    assert verdicts(house, session, passes + 2, *asked) == ["ALLOWED"] * passes + ["INTERRUPTED"] * 2
    held = house.agent.show_schedule(session)
    assert held.interruption is not None
    (name,) = budget
    assert (held.interruption.kind, held.interruption.by, held.episode) == ("budget", "policy", None)
    assert f"`{name}`" in held.interruption.reason
    ended = [event for event in house.deltas(session) if isinstance(event, Arbitrated) and event.episode]
    assert ended[-1].episode.interruption is not None  # type: ignore[union-attr]
    refused(Code.FORBIDDEN, lambda: house.agent.resume(session, "more, please"))
    house.ann.resume(session, "go on")
    assert verdicts(house, session, passes + 1, *asked) == ["ALLOWED"] * passes + ["INTERRUPTED"]
    house.check(session)


def test_time_ends_an_episode_too_and_counts_from_its_first_proposal(build: Build) -> None:
    house = build(policy=episodes(wall_seconds=60))
    session = house.session()
    house.clock.advance(10_000)
    seen = []
    for wait in (0, 30, 29, 1):
        house.clock.advance(wait)
        seen += verdicts(house, session, 1)
    assert seen == ["ALLOWED", "ALLOWED", "ALLOWED", "INTERRUPTED"]
    house.check(session)


def test_after_a_rest_the_next_episode_begins_by_itself(build: Build) -> None:
    house = build(policy=episodes(planning_depth=1, rest_seconds=30))
    session = house.session()
    seen = []
    for wait in (0, 0, 29, 1, 0):
        house.clock.advance(wait)
        seen += verdicts(house, session, 1)
    assert seen == ["ALLOWED", "INTERRUPTED", "INTERRUPTED", "ALLOWED", "INTERRUPTED"]
    house.check(session)


@pytest.mark.parametrize(("mode", "passes"), [("boost", 8), ("normal", 4), ("eco", 2), ("throttled", 1)])
def test_a_mode_takes_its_share_of_an_episode_and_boost_makes_more_of_it(
    build: Build, mode: str, passes: int
) -> None:
    house = build(policy=episodes(planning_depth=4))
    session = house.session()
    house.ann.set_mode(session, mode, "because")
    assert verdicts(house, session, passes + 1) == ["ALLOWED"] * passes + ["INTERRUPTED"]
    house.check(session)


def test_the_first_proposal_of_an_episode_is_judged_however_long_it_is(build: Build) -> None:
    house = build(policy=episodes(candidates=2))
    session = house.session()
    answer = house.agent.propose(session, [delta(goal__x=1)] * 3)
    assert [result.verdict for result in answer.results] == ["allow"] * 3
    assert verdicts(house, session, 1) == ["INTERRUPTED"]
    house.check(session)


def test_a_program_that_interrupts_and_resumes_goes_on_in_the_same_episode(build: Build) -> None:
    house = build(policy=episodes(planning_depth=2))
    session = house.session()
    verdicts(house, session, 1)
    house.agent.interrupt(session, "goal_conflict", "odd")
    house.agent.resume(session, "it was not")
    assert verdicts(house, session, 2) == ["ALLOWED", "INTERRUPTED"]
    house.check(session)


@pytest.mark.parametrize("first", ["agent", "ann"])
def test_what_a_person_resumes_begins_with_nothing_used(build: Build, first: str) -> None:
    house = build(policy=episodes(planning_depth=2))
    session = house.session()
    verdicts(house, session, 1)
    getattr(house, first).interrupt(session, "goal_conflict", "odd")
    house.ann.resume(session, "it was not")
    assert verdicts(house, session, 3) == ["ALLOWED", "ALLOWED", "INTERRUPTED"]
    house.check(session)


def test_what_calls_use_while_a_program_has_interrupted_is_used_of_the_episode(build: Build) -> None:
    house = build(policy=episodes(tokens=10))
    session = house.session()
    verdicts(house, session, 1)
    used = house.state(session).scheduling.episode
    house.agent.interrupt(session, "surprisal", "odd")
    assert house.state(session).scheduling.episode == used
    house.ann.interrupt(session, "user_intent", "stop")
    assert house.state(session).scheduling.episode is None
    house.check(session)


def test_ledgers_from_before_begin_a_new_episode_with_every_resume(build: Build) -> None:
    given = {"planning_depth": 2}
    house = build(
        policy=policy(
            constraints={"constraint.all": ALLOW_ALL},
            scheduling={"episode": given},
            arbitration={"meaning": 1},
        )
    )
    session = house.session()
    verdicts(house, session, 1)
    house.agent.interrupt(session, "goal_conflict", "odd")
    house.agent.resume(session, "it was not")
    assert verdicts(house, session, 3) == ["ALLOWED", "ALLOWED", "INTERRUPTED"]
    house.check(session)


def test_calls_that_were_let_through_run_though_the_episode_ends_meanwhile(build: Build) -> None:
    """What was within the budget is carried out: a proposal that is not takes nothing away from it."""
    house = build(policy=episodes(planning_depth=1))
    session = house.session()
    token = house.token(session)
    seen: list[str] = []
    house.toolbox.add("asks.more", lambda: seen.extend(verdicts(house, session, 1)), network=False)
    asked = [tool_call("asks.more", token), tool_call("note.read", token)]
    answer = house.agent.propose(session, asked)
    assert seen == ["INTERRUPTED"]
    assert [result.status for result in answer.results] == ["ok", "ok"]
    house.check(session)


def test_a_policy_without_episodes_ends_one_that_is_under_way(build: Build) -> None:
    house = build(policy=episodes(planning_depth=2))
    session = house.session()
    verdicts(house, session, 1)
    house.steward.in_force.adopt(policy(constraints={"constraint.all": ALLOW_ALL}))
    assert verdicts(house, session, 3) == ["ALLOWED"] * 3
    assert house.agent.show_schedule(session).episode is None
    house.check(session)


def test_what_an_episode_has_used_is_shown(build: Build) -> None:
    house = build(policy=episodes(planning_depth=5, wall_seconds=100))
    session = house.session()
    one(house.agent.propose(session, [tool_call("note.read", house.token(session))]))
    house.clock.advance(10)
    shown = house.agent.show_schedule(session).episode
    assert shown is not None
    assert shown.limits == {"planning_depth": 5, "wall_seconds": 100}
    used = {"candidates": 1, "planning_depth": 1, "tool_depth": 1, "tokens": 0, "wall_seconds": 10}
    assert shown.used == used
