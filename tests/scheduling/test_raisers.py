"""Interrupts are kept apart by whose programs raised them: who is watched does not switch off who watches."""

from pathlib import Path
from typing import Any, Final

import pytest

from beliefd.kernel import policy as policies
from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.scheduling.state import Raised
from beliefd.kernel.values import Principal, Role
from beliefd.protocol.rights import rights_of
from beliefd.testing.world import AGENT, OTHER_AGENT, policy, refused
from tests.conformance.node import verify_with_node
from tests.ledger.ledgers import checked
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, one

LEDGER: Final = (Path(__file__).parent / "fixtures" / "before_raisers.jsonl").read_bytes()
"""Told by the version before: a mode that recovers from each proposal on, also past the end of what was set;
56 of 100 candidates at a share of 0.55; an agent that resumes what another raised, which is muted then; and a
person's low level that excites."""
RIGHTS: Final = rights_of(Role.AGENT, "")
SAME_OWNER: Final = (
    Principal(id="gateway://a", role=Role.AGENT, owner="ana"),
    Principal(id="gateway://b", role=Role.AGENT, owner="ana"),
)


def limited(**interrupts: Any) -> Policy:
    return policy(constraints={"constraint.all": ALLOW_ALL}, scheduling={"interrupts": interrupts})


class Watched:
    """An agent, and another that watches it, in one session."""

    def __init__(self, house: ToolWorld) -> None:
        self.house, self.session = house, house.session()
        self.agent, self.watcher = house.person(AGENT, RIGHTS), house.person(OTHER_AGENT, RIGHTS)

    def interrupts(self, who: Any, kind: str = "goal_conflict", **more: Any) -> bool:
        return bool(who.interrupt(self.session, kind, "look", **more).interrupted)

    def resume(self, who: Any) -> None:
        who.resume(self.session, "looked")


@pytest.fixture
def watched(build: Build) -> Watched:
    return Watched(build(policy=limited(cooldown_seconds=60, wakes=1, rising=0.8, falling=0.4)))


@pytest.mark.parametrize("kind", ["surprisal", "goal_conflict"])
def test_only_who_raised_it_or_a_person_resumes(watched: Watched, kind: str) -> None:
    house, session = watched.house, watched.session
    assert watched.interrupts(watched.watcher, kind)
    refused(Code.FORBIDDEN, lambda: watched.resume(watched.agent))
    told = one(watched.agent.propose(session, [delta(goal__x=1)]))
    assert told.verdict == "defer"
    assert told.reasons[0].remedy == (
        f"{OTHER_AGENT.id}, or another program of its owner, or a person, who resumes the session"
    )
    watched.resume(watched.watcher)
    house.clock.advance(3600)
    assert watched.interrupts(watched.watcher, "goal_conflict")
    watched.resume(house.ann)
    assert one(watched.agent.propose(session, [delta(goal__x=1)])).verdict == "allow"
    house.check(session)


def test_programs_of_one_owner_are_one(build: Build) -> None:
    house = build(policy=limited(wakes=1))
    session = house.session()
    first, second = (house.person(who, RIGHTS) for who in SAME_OWNER)
    assert first.interrupt(session, "goal_conflict", "look").interrupted
    second.resume(session, "looked")
    assert not second.interrupt(session, "goal_conflict", "look").interrupted, "it is used up for both"
    assert list(house.state(session).scheduling.raised) == ["ana"]
    house.check(session)


def test_nobody_uses_up_the_interrupts_of_another(watched: Watched) -> None:
    house = watched.house
    assert watched.interrupts(watched.agent, "surprisal", level=1.0)
    watched.resume(watched.agent)
    assert not watched.interrupts(watched.agent, "surprisal", level=1.0), "it has not calmed"
    assert not watched.interrupts(watched.agent), "nor is its pause over"
    assert watched.interrupts(watched.watcher, "surprisal", level=0.9)
    watched.resume(watched.watcher)
    house.clock.advance(60)
    assert not watched.interrupts(watched.watcher), "it has none left"
    house.check(watched.session)


def test_nobody_calms_another(watched: Watched) -> None:
    assert watched.interrupts(watched.watcher, "surprisal", level=0.9)
    watched.resume(watched.house.ann)
    assert not watched.interrupts(watched.agent, "surprisal", level=0.1)
    watched.house.clock.advance(3600)
    assert not watched.interrupts(watched.watcher, "surprisal", level=0.9)
    assert not watched.interrupts(watched.watcher, "surprisal", level=0.4)
    assert watched.interrupts(watched.watcher, "surprisal", level=0.9)
    watched.house.check(watched.session)


def test_what_a_person_raises_counts_for_no_program(watched: Watched) -> None:
    house = watched.house
    for level in (0.1, 1.0):
        assert watched.interrupts(house.ann, "surprisal", level=level)
        watched.resume(house.ann)
    held = house.state(watched.session).scheduling
    assert (held.raised, held.wakes, held.excited) == ({}, (), False)
    assert watched.interrupts(watched.agent, "surprisal", level=0.95)
    house.check(watched.session)


def test_where_levels_do_not_fall_below_where_they_rise_each_interrupts(build: Build) -> None:
    for limits in ({}, {"rising": 0.5, "falling": 0.5}):
        watched = Watched(build(policy=limited(**limits)))
        for _ in range(3):
            assert watched.interrupts(watched.agent, "surprisal", level=0.5)
            watched.resume(watched.agent)
        watched.house.check(watched.session)


def test_a_signal_during_an_interruption_is_noted_and_can_be_raised_after_it(watched: Watched) -> None:
    assert watched.interrupts(watched.agent)
    assert not watched.interrupts(watched.watcher, "surprisal", level=1.0)
    watched.resume(watched.agent)
    assert watched.interrupts(watched.watcher, "surprisal", level=1.0)
    watched.house.check(watched.session)


def test_who_has_raised_nothing_that_counts_is_not_kept(watched: Watched) -> None:
    assert not watched.interrupts(watched.agent, "surprisal", level=0.5)
    assert watched.house.state(watched.session).scheduling.raised == {}
    assert watched.interrupts(watched.watcher)
    (raised,) = watched.house.state(watched.session).scheduling.raised.values()
    assert raised == Raised(wakes=(watched.house.clock.now(),))
    assert watched.agent.show_schedule(watched.session).wakes == list(raised.wakes)


# -- ledgers of before ---------------------------------------------------------------------------


def test_ledgers_of_before_are_decided_as_they_were() -> None:
    assert checked(LEDGER).ok, checked(LEDGER).first_bad
    assert verify_with_node(LEDGER).code == 0


def test_by_the_rules_of_today_they_would_have_been_decided_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    earlier = {name: one for name, one in policies.EARLIER["arbitration"].items() if name != "scheduling"}
    monkeypatch.setitem(policies.EARLIER, "arbitration", earlier)
    assert not checked(LEDGER).ok
