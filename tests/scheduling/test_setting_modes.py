"""Modes that are set: by people up and down, by programs only down; who, why and until when is recorded."""

from functools import partial

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.scheduling.commands import SetMode
from beliefd.kernel.values import later
from beliefd.protocol.rights import Right, Rights
from beliefd.protocol.scheduling import LoweredView
from beliefd.testing.world import AGENT, ANN, policy, refused
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, ToolWorld, deny, one, rules, tool_call

ANYTHING = rules(all=ALLOW_ALL)
DEGRADES = rules(all=ALLOW_ALL, overload=deny("calc.add", on_fail="degrade"))


def mode_of(house: ToolWorld, session: str) -> str:
    """The same in every answer that tells it."""
    shown = house.agent.show_schedule(session).mode
    assert house.agent.show_state(session).mode == shown
    return shown


def degrade(house: ToolWorld, session: str, token: str) -> str:
    return house.agent.propose(session, [tool_call("calc.add", token, a=1, b=1)]).mode


@pytest.mark.parametrize("mode", ["boost", "eco", "throttled", "offline-safe"])
def test_people_set_any_mode_and_set_it_back(build: Build, mode: str) -> None:
    house = build(policy=ANYTHING)
    session = house.session()
    before = house.hash(session)
    answer = house.ann.set_mode(session, mode, "because")
    given = answer.schedule.set_mode
    assert given is not None
    assert (given.mode, given.by, given.reason, given.until) == (mode, ANN.id, "because", None)
    assert mode_of(house, session) == mode
    house.clock.advance(100_000)
    assert mode_of(house, session) == mode, "nobody said until when"
    house.root.set_mode(session, "normal", "done")
    assert (mode_of(house, session), house.hash(session)) == ("normal", before)
    house.check(session)


def test_a_mode_ends_by_itself_when_its_time_is_up(build: Build) -> None:
    house = build(policy=ANYTHING)
    session = house.session()
    token = house.token(session)
    until = later(house.clock.now(), 60)
    house.ann.set_mode(session, "offline-safe", "the link is down", until=until)
    house.clock.advance(59)
    assert mode_of(house, session) == "offline-safe"
    house.clock.advance(1)
    assert mode_of(house, session) == "normal"
    assert house.agent.show_schedule(session).set_mode is None
    assert house.agent.propose(session, [tool_call("note.read", token)]).mode == "normal"
    assert house.state(session).substrate.set_mode is None, "the next event drops it"
    house.check(session)


def test_a_time_that_has_passed_sets_nothing(house: ToolWorld) -> None:
    session = house.session()
    past = later(house.clock.now(), -1)
    refused(Code.CONFLICT, lambda: house.ann.set_mode(session, "eco", "x", until=past))
    assert mode_of(house, session) == "normal"
    house.check(session)


def test_a_program_lowers_and_never_raises(build: Build) -> None:
    house = build(policy=ANYTHING)
    session = house.session()
    for mode in ("boost", "normal"):
        refused(Code.FORBIDDEN, partial(house.agent.set_mode, session, mode, "I am in a hurry"))
    house.agent.set_mode(session, "throttled", "I was told to slow down")
    for mode in ("boost", "normal", "eco", "throttled"):
        refused(Code.FORBIDDEN, partial(house.agent.set_mode, session, mode, "I am in a hurry"))
    until = later(house.clock.now(), 1)
    refused(Code.FORBIDDEN, lambda: house.agent.set_mode(session, "offline-safe", "x", until=until))
    assert mode_of(house, session) == "throttled"
    assert house.agent.show_schedule(session).set_mode is None
    house.check(session)


def test_what_a_program_lowered_recovers_to_what_a_person_set_and_not_above(build: Build) -> None:
    house = build(policy=ANYTHING)
    session = house.session()
    house.ann.set_mode(session, "eco", "all day")
    house.agent.set_mode(session, "offline-safe", "careful")
    seen = []
    for _ in range(4):
        seen.append(mode_of(house, session))
        house.clock.advance(300)
    assert seen == ["offline-safe", "throttled", "eco", "eco"]
    house.check(session)


def test_who_lowered_a_mode_and_why_is_shown_until_it_has_recovered(build: Build) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    since = house.clock.now()
    house.agent.set_mode(session, "throttled", "careful")
    shown = house.agent.show_schedule(session)
    assert (shown.set_mode, shown.lowered) == (
        None,
        LoweredView(mode="throttled", by=AGENT.id, reason="careful", since=since),
    )
    house.clock.advance(300)
    back = house.agent.show_schedule(session).lowered
    assert (back and back.mode, back and back.reason) == ("eco", "careful")
    house.clock.advance(300)
    assert house.agent.show_schedule(session).lowered is None
    assert degrade(house, session, house.token(session)) == "eco"
    degraded = house.agent.show_schedule(session).lowered
    assert degraded is not None
    assert (degraded.mode, degraded.by, degraded.reason != "careful") == ("eco", AGENT.id, True)
    house.ann.set_mode(session, "normal", "over")
    assert house.agent.show_schedule(session).lowered is None
    house.check(session)


def test_degrading_a_boost_is_normal_and_recovers_to_it(build: Build) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session)
    house.ann.set_mode(session, "boost", "an incident", until=later(house.clock.now(), 1_000))
    assert [degrade(house, session, token) for _ in range(2)] == ["normal", "eco"]
    house.clock.advance(600)
    assert mode_of(house, session) == "boost"
    assert degrade(house, session, token) == "normal"
    house.clock.advance(500)
    assert mode_of(house, session) == "normal", "its time is up"
    assert degrade(house, session, token) == "eco"
    house.check(session)


def test_a_person_who_sets_a_mode_ends_what_degraded_it(build: Build) -> None:
    house = build(policy=DEGRADES)
    session = house.session()
    token = house.token(session)
    for _ in range(3):
        degrade(house, session, token)
    assert mode_of(house, session) == "offline-safe"
    house.ann.set_mode(session, "normal", "it was a false alarm")
    assert mode_of(house, session) == "normal"
    house.check(session)


def test_no_mode_makes_more_of_a_capability(build: Build) -> None:
    house = build(policy=ANYTHING)
    session = house.session()
    token = house.token(session, budgets={"calls": 3})
    house.ann.set_mode(session, "boost", "an incident")
    answer = house.agent.propose(session, [tool_call("note.read", token)] * 5)
    assert [result.verdict for result in answer.results].count("allow") == 3
    house.check(session)


def test_setting_takes_the_right_to_approve(house: ToolWorld) -> None:
    session = house.session()
    reader = house.person(ANN, Rights({"default": frozenset({Right.READ, Right.PROPOSE})}))
    for act in (
        lambda: reader.set_mode(session, "boost", "x"),
        lambda: reader.resume(session, "x"),
    ):
        assert "approve" in refused(Code.FORBIDDEN, act).message
    assert len(house.entries(session)) == 1


def test_a_reason_is_not_taken_for_speculation(house: ToolWorld) -> None:
    """Who stops a session must not be kept from it by the words that he says why with."""
    session = house.session()
    house.ann.set_mode(session, "eco", "shyp-s-c-0 is a speculative hypothesis")
    house.ann.interrupt(session, "user_intent", "the agent believes a speculative hypothesis")
    assert house.agent.show_schedule(session).interruption is not None
    house.check(session)


# -- offline-safe --------------------------------------------------------------------------------


def offline(house: ToolWorld) -> tuple[str, str]:
    session = house.session()
    token = house.token(session, net_allowlist=["*"])
    house.ann.set_mode(session, "offline-safe", "no network")
    return session, token


def test_offline_safe_stops_what_could_reach_the_network_and_names_no_host(house: ToolWorld) -> None:
    house.toolbox.add("says.nothing", lambda: 1)
    house.toolbox.add("says.yes", lambda: 1, network=True)
    house.toolbox.add("says.no", lambda: 1, network=False)
    house.toolbox.add("says.no.and.connects", lambda url: 1, network=False, net_args=["url"])
    session, token = offline(house)
    asked = [tool_call(f"says.{name}", token) for name in ("nothing", "yes", "no")]
    asked.append(tool_call("says.no.and.connects", token, url="https://example.org"))
    answer = house.agent.propose(session, asked)
    assert [result.reason_code for result in answer.results] == ["MODE", "MODE", "ALLOWED", "MODE"]
    assert [tool_id for tool_id, _ in house.toolbox.ran] == ["says.no"]
    house.check(session)


@pytest.mark.parametrize(
    ("own", "said", "expected"),
    [
        (None, False, "ALLOWED"),
        (None, True, "MODE"),
        (False, None, "ALLOWED"),
        (False, True, "MODE"),
        (True, False, "MODE"),
        (True, None, "MODE"),
    ],
)
def test_who_says_that_a_tool_reaches_the_network_is_believed(
    own: bool | None, said: bool | None, expected: str
) -> None:
    named = {} if said is None else {"network": said}
    given = policy(constraints={"constraint.all": ALLOW_ALL}, tools={"probe": named})
    with ToolWorld(policy=given) as house:
        house.toolbox.add("probe", lambda: 1, **({} if own is None else {"network": own}))
        session, token = offline(house)
        assert one(house.agent.propose(session, [tool_call("probe", token)])).reason_code == expected
        house.check(session)


@pytest.mark.parametrize(
    ("annotations", "named", "expected"),
    [
        ({"readOnlyHint": True}, None, "MODE"),
        ({"readOnlyHint": True, "openWorldHint": False}, None, "ALLOWED"),
        ({"readOnlyHint": True, "openWorldHint": True}, None, "MODE"),
        ({"readOnlyHint": True, "openWorldHint": False}, {"network": True}, "MODE"),
        ({"readOnlyHint": True, "openWorldHint": True}, {"network": False}, "MODE"),
        ({"readOnlyHint": True}, {"network": False}, "ALLOWED"),
    ],
)
def test_tools_of_catalogues_say_it_with_their_annotation(
    annotations: dict[str, bool], named: dict[str, bool] | None, expected: str
) -> None:
    tools = {} if named is None else {"look": {"executor": "caller", **named}}
    given = policy(constraints={"constraint.all": ALLOW_ALL}, tools=tools)
    with ToolWorld(policy=given) as house:
        offered = {"name": "look", "input_schema": {"type": "object"}, "annotations": annotations}
        house.root.pin_tools("files", [offered])
        session, token = offline(house)
        call = {**tool_call("look", token), "upstream": "files"}
        answer = one(house.agent.propose(session, [call], execute="caller"))
        assert answer.reason_code == expected, answer
        house.check(session)


def test_what_older_entries_do_not_say_is_judged_as_it_was() -> None:
    from beliefd.kernel.substrate.modes import turned_off
    from beliefd.kernel.substrate.tools import CallFinding, ToolDefinition

    silent = CallFinding(definition=ToolDefinition())
    connects = CallFinding(definition=ToolDefinition(), hosts=("example.org",))
    assert not turned_off("offline-safe", policy(), silent)
    assert turned_off("offline-safe", policy(), connects)


def test_a_mode_is_set_over_the_command_of_the_kernel_alone(house: ToolWorld) -> None:
    """No handler stands between: what is refused is refused by the rule, on record."""
    session = house.session()
    outcome = house.submit(session, SetMode(mode="boost", reason="x"), house.agent.principal)
    assert outcome.event.code is Code.FORBIDDEN  # type: ignore[union-attr]
    assert house.deltas(session)[-1] == outcome.event
