"""`degrade`: denied, and one mode down; modes change what budgets leave, and time brings them back up."""

import pytest

from beliefd.kernel.policy import recorded
from beliefd.kernel.scheduling.episodes import limits_of
from beliefd.kernel.substrate.modes import MODES, lower, share
from beliefd.kernel.values import later
from beliefd.testing.world import policy
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, ToolWorld, codes, delta, deny, one, rules, tool_call, when

OVERLOAD = deny("calc.add", on_fail="degrade", reason="too much at once")
DEGRADES = rules(all=ALLOW_ALL, overload=OVERLOAD)


def degrade(house: ToolWorld, session: str, token: str, times: int = 1) -> None:
    for _ in range(times):
        answer = one(house.agent.propose(session, [tool_call("calc.add", token, a=1, b=1)]))
        assert (answer.verdict, answer.on_fail, codes(answer)) == ("deny", "degrade", ["DENIED"])


def test_degrading_denies_now_and_goes_one_step_down_as_far_as_it_goes(build: Build) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session)
    seen = [house.agent.show_state(session).mode]
    for _ in range(5):
        degrade(house, session, token)
        seen.append(house.agent.show_state(session).mode)
    assert seen == ["normal", "eco", "throttled", "offline-safe", "offline-safe", "offline-safe"]
    assert house.toolbox.count == 0
    assert len(house.state(session).substrate.symbolic_state) == 0
    house.check(session)


def test_one_proposal_goes_down_one_step_however_much_of_it_degrades(build: Build) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session)
    answer = house.agent.propose(session, [tool_call("calc.add", token, a=1, b=1)] * 4)
    assert answer.mode == "eco"


def test_a_change_of_state_can_degrade_too(build: Build) -> None:
    busy = {"v": 1, "effect": "deny", "subject": {"capability": "write:goal"}, "on_fail": "degrade"}
    house = build(policy=rules(all=ALLOW_ALL, busy=busy))
    session = house.session()
    assert house.agent.propose(session, [delta(goal__x=1)]).mode == "eco"
    assert len(house.state(session).substrate.symbolic_state) == 0
    house.check(session)


def test_a_confirmed_call_can_degrade_too(build: Build) -> None:
    asks = deny("email.send", on_fail="ask")
    house = build(policy=rules(all=ALLOW_ALL, asks=asks))
    session = house.session()
    token = house.token(session)
    answer = one(house.agent.propose(session, [tool_call("email.send", token, "k", to="x")]))
    house.steward.in_force.adopt(rules(all=ALLOW_ALL, asks=asks, busy=deny("email.send", on_fail="degrade")))
    house.ann.approve(house.ann.show_approval(answer.approval_id or ""))
    assert house.agent.show_state(session).mode == "eco"
    assert house.toolbox.count == 0
    house.check(session)


@pytest.mark.parametrize(("steps", "left"), [(0, 8), (1, 4), (2, 2), (3, 2)])
def test_a_lower_mode_leaves_less_of_every_budget(build: Build, steps: int, left: int) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session, budgets={"calls": 8})
    degrade(house, session, token, steps)
    answer = house.agent.propose(session, [tool_call("note.read", token)] * 10)
    allowed = [result.verdict for result in answer.results].count("allow")
    assert allowed == left
    assert house.toolbox.count == left
    house.check(session)


def test_the_smallest_budget_is_not_shared_away(build: Build) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session, budgets={"calls": 1})
    degrade(house, session, token, 2)
    assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"


def test_offline_safe_makes_no_connections_and_changes_nothing(build: Build) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session, net_allowlist=["*"], fs_read_roots=["/"])
    degrade(house, session, token, 3)
    asked = [
        tool_call("net.get", token, url="https://example.org"),
        tool_call("email.send", token, "k", to="x"),
        tool_call("fs.read", token, path="/x"),
    ]
    answer = house.agent.propose(session, asked)
    assert [result.reason_code for result in answer.results] == ["MODE", "MODE", "ALLOWED"]
    house.check(session)


def test_a_mode_recovers_one_step_at_a_time(build: Build) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session)
    degrade(house, session, token, 3)
    seen = []
    for seconds in (299, 1, 300, 300, 300):
        house.clock.advance(seconds)
        seen.append(house.agent.propose(session, [tool_call("note.read", token)]).mode)
    assert seen == ["offline-safe", "throttled", "eco", "normal", "normal"]
    house.check(session)


def test_a_long_rest_recovers_all_steps_and_normal_is_the_end(build: Build) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session)
    before = house.hash(session)
    degrade(house, session, token, 3)
    house.clock.advance(3_000)
    answer = house.agent.propose(session, [delta(goal__x=1), tool_call("calc.add", token, a=1, b=1)])
    assert answer.mode == "eco", "it had recovered, and is degraded from there"
    house.clock.advance(3_000)
    house.agent.propose(session, [delta(fact__refused=1)])
    state = house.state(session)
    assert (state.substrate.mode, state.substrate.lowered_mode, state.substrate.mode_since) == (
        "normal",
        "",
        "",
    )
    assert house.hash(session) != before
    house.check(session)


def test_a_policy_says_what_modes_mean_and_how_long_they_last(build: Build) -> None:
    modes = {"rules": {"eco": {"budget_share": 0.1, "mutating": False}}, "recover_seconds": 10}
    house = build(policy=policy(constraints=DEGRADES.constraints, modes=modes))
    session = house.session()
    token = house.token(session, budgets={"calls": 20})
    degrade(house, session, token)
    assert (
        one(house.agent.propose(session, [tool_call("email.send", token, "k", to="x")])).reason_code == "MODE"
    )
    answer = house.agent.propose(session, [tool_call("note.read", token)] * 3)
    assert [result.verdict for result in answer.results] == ["allow", "allow", "deny"]
    house.clock.advance(10)
    assert one(house.agent.propose(session, [tool_call("email.send", token, "k", to="x")])).verdict == "allow"
    house.check(session)


def test_rules_can_read_the_mode_and_who_asks(build: Build) -> None:
    calm = deny("note.read", when=when("eq", "call.mode", "eco"))
    mine = deny("note.read", when=when("not", when("eq", "call.agent_id", "agent://writer")))
    role = deny("note.read", when=when("not", when("in", "call.role", ["agent"])))
    house = build(policy=rules(all=ALLOW_ALL, overload=OVERLOAD, calm=calm, mine=mine, role=role))
    session = house.session()
    token = house.token(session)
    bearer = house.root.issue_capability(session, agent_id="*", scope={"tools": ["*"]}).token
    assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"
    other = one(house.helper.propose(session, [tool_call("note.read", bearer)]))
    assert [reason.constraint for reason in other.reasons] == ["constraint.mine"]
    degrade(house, session, token)
    assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "deny"


def test_a_mode_that_had_recovered_and_is_lowered_again_begins_anew(build: Build) -> None:
    """Down to where it was lowered to before: it does not count as having been there all the time."""
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session)
    degrade(house, session, token, 2)
    house.clock.advance(300)
    assert house.agent.show_state(session).mode == "eco"
    degrade(house, session, token)
    assert house.agent.show_state(session).mode == "throttled"
    house.clock.advance(299)
    assert house.agent.show_state(session).mode == "throttled"
    house.check(session)


def test_a_clock_that_goes_back_recovers_nothing(build: Build) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session)
    degrade(house, session, token, 2)
    house.clock.advance(-1_000)
    assert house.agent.propose(session, [delta(goal__x=1)]).mode == "throttled"
    house.check(session)


@pytest.mark.parametrize("at", [(), (99, 198, 297, 396), (100, 200, 300), (350,)])
def test_when_a_mode_has_recovered_does_not_depend_on_what_is_proposed_meanwhile(
    build: Build, at: tuple[int, ...]
) -> None:
    house = build(policy=policy(constraints=DEGRADES.constraints, modes={"recover_seconds": 100}))
    session = house.session()
    house.agent.set_mode(session, "offline-safe", "careful")
    seen = []
    for second in range(1, 301):
        house.clock.advance(1)
        if second in at:
            house.agent.propose(session, [delta(goal__x=1)])
        if second in (99, 100, 199, 200, 299, 300):
            seen.append(house.agent.show_schedule(session).mode)
    assert seen == ["offline-safe", "throttled", "throttled", "eco", "eco", "normal"]
    house.check(session)


@pytest.mark.parametrize("proposed", [None, 60, 99, 100, 149, 150])
@pytest.mark.parametrize(
    ("until", "lowered", "seen"),
    [
        (50, "offline-safe", ["offline-safe", "throttled", "throttled", "eco"]),
        (150, "throttled", ["throttled", "eco", "normal", "normal"]),
    ],
    ids=["what was set ends first", "it had recovered to what was set"],
)
def test_nor_does_it_where_the_time_of_what_was_set_is_up_meanwhile(
    build: Build, until: int, lowered: str, seen: list[str], proposed: int | None
) -> None:
    house = build(policy=policy(constraints=DEGRADES.constraints, modes={"recover_seconds": 100}))
    session = house.session()
    house.ann.set_mode(session, "eco", "a release", until=later(house.clock.now(), until))
    house.agent.set_mode(session, lowered, "careful")
    told = []
    for second in range(1, 201):
        house.clock.advance(1)
        if second == proposed:
            house.agent.propose(session, [delta(goal__x=1)])
        if second in (99, 149, 150, 200):
            told.append(house.agent.show_schedule(session).mode)
    assert told == seen
    house.check(session)


def test_a_degrade_at_the_lowest_mode_does_not_prolong_it(build: Build) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session)
    degrade(house, session, token, 3)
    house.clock.advance(299)
    degrade(house, session, token)
    assert house.agent.show_state(session).mode == "offline-safe"
    house.clock.advance(1)
    assert house.agent.show_state(session).mode == "throttled"
    house.check(session)


@pytest.mark.parametrize(
    ("given", "limit", "left"),
    [(0.55, 100, 55), (0.07, 100, 7), (0.1, 21, 3), (1e-7, 5, 1), (0.0, 5, 0), (2.0, 5, 5)],
)
def test_a_share_is_exact_and_rounded_up(given: float, limit: int, left: int) -> None:
    shared = policy(modes={"rules": {"eco": {"budget_share": given}}})
    assert share(limit, "eco", shared) == left


def test_a_share_of_nothing_leaves_one_of_each_budget_of_an_episode() -> None:
    shared = policy(modes={"rules": {"eco": {"budget_share": 0}}}, scheduling={"episode": {"tokens": 9}})
    assert limits_of(shared, "eco") == {"tokens": 1}
    assert share(9, "eco", shared) == 0


def test_ledgers_of_before_took_shares_in_floating_point() -> None:
    modes = {"rules": {"eco": {"budget_share": 0.55}}}
    assert share(100, "eco", recorded({"modes": modes})) == 56


def test_offline_safe_lets_changes_of_the_state_through(build: Build) -> None:
    """It turns off calls. What the session says of itself is no call."""
    house = build(policy=DEGRADES)
    session = house.session()
    house.agent.set_mode(session, "offline-safe", "careful")
    assert one(house.agent.propose(session, [delta(goal__x=1)])).verdict == "allow"


def test_modes_are_in_order() -> None:
    assert [lower(mode) for mode in MODES] == [*MODES[1:], MODES[-1]]
