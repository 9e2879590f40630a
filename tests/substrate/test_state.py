"""F_sparse: who may write what, patches that are made whole or not at all, snapshots old and new."""

from typing import Any

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from beliefd.testing.world import BY_ROLE, policy, refused
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, ToolWorld, codes, delta, one, remove, rules, when

WRITERS = {
    "goal": {Role.AGENT},
    "fact": {Role.ENCODER, Role.TOOL},
    "policy": set(),
    "constraint": set(),
}
KERNEL_OWNED = ("policy", "constraint")
UNKNOWN = (
    "memory.x",
    "goals.x",
    "Goal.x",
    "goal",
    "goal.",
    ".x",
    "call.args",
    "x",
    "\u0261oal.x",
    "fact",
    "fact.",
)


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("namespace", WRITERS)
def test_a_namespace_is_written_by_exactly_the_roles_the_specification_names(
    house: ToolWorld, role: Role, namespace: str
) -> None:
    session = house.session()
    key = f"{namespace}.x"
    answer = one(house.person(BY_ROLE[role]).propose(session, [delta(**{f"{namespace}__x": 1})]))
    if role in WRITERS[namespace]:
        assert (answer.verdict, answer.reason_code) == ("allow", "ALLOWED")
        assert house.state(session).substrate.symbolic_state[key] == {"v": 1, "value": 1}
    else:
        assert answer.verdict == "deny"
        assert codes(answer) == ["KERNEL_OWNED" if namespace in KERNEL_OWNED else "NOT_AUTHORISED"]
        assert answer.reasons[0].keys == (key,)
        assert len(house.state(session).substrate.symbolic_state) == 0


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("key", UNKNOWN)
def test_nobody_writes_outside_the_namespaces(house: ToolWorld, role: Role, key: str) -> None:
    session = house.session()
    patch = {"kind": "delta", "patch": {"set": {key: {"v": 1}}}}
    answer = one(house.person(BY_ROLE[role]).propose(session, [patch]))
    assert (answer.verdict, codes(answer)) == ("deny", ["UNKNOWN_NAMESPACE"])
    removal = one(house.person(BY_ROLE[role]).propose(session, [remove(key)]))
    assert (removal.verdict, codes(removal)) == ("deny", ["UNKNOWN_NAMESPACE"])


def test_removing_takes_the_same_right_as_setting(house: ToolWorld) -> None:
    session = house.session()
    house.encoder.propose(session, [delta(fact__x=1)])
    answer = one(house.agent.propose(session, [remove("fact.x")]))
    assert codes(answer) == ["NOT_AUTHORISED"]
    assert "fact.x" in house.state(session).substrate.symbolic_state
    assert one(house.encoder.propose(session, [remove("fact.x")])).verdict == "allow"
    assert "fact.x" not in house.state(session).substrate.symbolic_state


def test_the_role_is_that_of_the_token_whatever_the_provenance_says(house: ToolWorld) -> None:
    session = house.session()
    error = refused(
        Code.FORBIDDEN, lambda: house.agent.propose(session, [delta(fact__x=1)], source="encoder")
    )
    assert (error.details or {})["path"] == "$.provenance.source"
    house.steward.in_force.adopt(policy(provenance={"sources": "any"}))
    answer = one(house.agent.propose(session, [delta(fact__x=1)], source="encoder"))
    assert codes(answer) == ["NOT_AUTHORISED"]


@pytest.mark.parametrize(
    "value",
    [None, 1, "text", [], [1], {}, {"value": 1}, {"v": 0}, {"v": "1"}, {"v": True}, {"v": 1.5}, {"v": None}],
)
def test_values_are_objects_with_a_version(house: ToolWorld, value: Any) -> None:
    session = house.session()
    patch = {"kind": "delta", "patch": {"set": {"goal.x": value, "goal.y": {"v": 1}}}}
    answer = one(house.agent.propose(session, [patch]))
    assert (answer.verdict, codes(answer)) == ("deny", ["BAD_VALUE"])
    assert len(house.state(session).substrate.symbolic_state) == 0
    house.check(session)


def test_a_whole_number_is_a_version_however_it_is_written(house: ToolWorld) -> None:
    """1.0 and 1 are one number in JSON: judged as one, recorded as one."""
    session = house.session()
    patch = {"kind": "delta", "patch": {"set": {"goal.x": {"v": 1.0}}}}
    assert one(house.agent.propose(session, [patch])).verdict == "allow"
    house.check(session)


@pytest.mark.parametrize(
    "patch",
    [{}, {"set": {}}, {"remove": []}, {"set": {"goal.x": {"v": 1}}, "remove": ["goal.x"]}, {"sets": {}}],
)
def test_a_patch_that_says_nothing_or_contradicts_itself_is_no_proposal(house: ToolWorld, patch: Any) -> None:
    session = house.session()
    before = len(house.ledger(session))
    refused(Code.INVALID_REQUEST, lambda: house.agent.propose(session, [{"kind": "delta", "patch": patch}]))
    assert len(house.ledger(session)) == before


def test_without_an_allow_nothing_is_written(build: Build) -> None:
    house = build(policy=rules())
    session = house.session()
    assert codes(one(house.agent.propose(session, [delta(goal__x=1)]))) == ["NO_ALLOW"]
    house.check(session)


def test_rules_speak_of_writes_by_namespace(build: Build) -> None:
    house = build(
        policy=rules(
            goals={"v": 1, "effect": "allow", "subject": {"capability": "write:goal"}},
            frozen={
                "v": 1,
                "effect": "deny",
                "subject": {"capability": "write:goal"},
                "when": when("exists", "goal.frozen"),
                "on_fail": "defer",
                "reason": "goals are frozen",
            },
        )
    )
    session = house.session()
    assert codes(one(house.encoder.propose(session, [delta(fact__x=1)]))) == ["NO_ALLOW"]
    assert one(house.agent.propose(session, [delta(goal__x=1)])).verdict == "allow"
    assert one(house.agent.propose(session, [delta(goal__frozen=1)])).verdict == "allow"
    answer = one(house.agent.propose(session, [delta(goal__y=1)]))
    assert (answer.verdict, answer.on_fail, codes(answer)) == ("defer", "defer", ["DENIED"])
    (reason,) = answer.reasons
    assert (reason.constraint, reason.keys, reason.text) == (
        "constraint.frozen",
        ("goal.frozen",),
        "goals are frozen",
    )
    assert reason.remedy == '`goal.frozen` is missing (now {"v":1,"value":1})'
    house.check(session)


INVARIANT = {
    "v": 1,
    "effect": "deny",
    "subject": None,
    "when": when("eq", "goal.temperature.value", 100),
    "reason": "it would boil",
}


def test_an_invariant_that_a_patch_would_break_drops_the_whole_patch(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL, **{"invariant.cool": INVARIANT}))
    session = house.session()
    assert one(house.agent.propose(session, [delta(goal__temperature=20, goal__x=1)])).verdict == "allow"
    before = house.hash(session)
    answer = one(house.agent.propose(session, [delta(goal__temperature=100, goal__x=2, goal__new=1)]))
    assert (answer.verdict, codes(answer)) == ("deny", ["INVARIANT_BROKEN"])
    assert answer.reasons[0].constraint == "constraint.invariant.cool"
    assert answer.reasons[0].text == "it would boil"
    assert answer.reasons[0].keys == ("goal.temperature.value",)
    assert house.hash(session) == before
    house.check(session)


def test_an_allow_as_invariant_must_hold_after_every_commit(build: Build) -> None:
    needs = {"v": 1, "effect": "allow", "subject": None, "when": when("exists", "goal.owner")}
    house = build(policy=rules(all=ALLOW_ALL, **{"invariant.owned": needs}))
    session = house.session()
    assert codes(one(house.agent.propose(session, [delta(goal__x=1)]))) == ["INVARIANT_BROKEN"]
    assert one(house.agent.propose(session, [delta(goal__x=1, goal__owner="ana")])).verdict == "allow"
    assert codes(one(house.agent.propose(session, [remove("goal.owner")]))) == ["INVARIANT_BROKEN"]
    house.check(session)


def test_a_malformed_invariant_lets_nothing_be_written(build: Build) -> None:
    house = build()
    # Nobody can adopt it now; an earlier version may have.
    bad = {"invariant.bad": {"v": 1, "effect": "deny", "when": 5}}
    house.steward.in_force.adopt(rules(all=ALLOW_ALL, **bad))
    session = house.session()
    assert codes(one(house.agent.propose(session, [delta(goal__x=1)]))) == ["MALFORMED_CONSTRAINT"]


EXCLUSIVE = when("all", when("exists", "goal.ship"), when("eq", "goal.freeze.value", True))


@pytest.mark.parametrize(
    ("name", "subject"),
    [("invariant.exclusive", None), ("exclusive", None), ("exclusive", {"capability": "write:goal"})],
)
def test_a_goal_that_conflicts_with_another_is_refused_with_both_named(
    build: Build, name: str, subject: Any
) -> None:
    """Declared by a constraint that reads both, whether it is filed among the invariants or not."""
    constraint = {"v": 1, "effect": "deny", "subject": subject, "when": EXCLUSIVE, "reason": "not both"}
    house = build(policy=rules(all=ALLOW_ALL, **{name: constraint}))
    session = house.session()
    assert one(house.agent.propose(session, [delta(goal__freeze=True)])).verdict == "allow"
    before = house.hash(session)
    answer = one(house.agent.propose(session, [delta(goal__ship=1, goal__other=1)]))
    assert (answer.verdict, codes(answer)) == ("deny", ["GOAL_CONFLICT"])
    assert answer.reasons[0].keys == ("goal.freeze", "goal.ship")
    assert answer.reasons[0].text == "`goal.freeze` and `goal.ship` exclude each other: not both"
    assert house.hash(session) == before
    moved = house.agent.propose(session, [remove("goal.freeze"), delta(goal__ship=1)])
    assert [result.verdict for result in moved.results] == ["allow", "allow"]
    house.check(session)


def test_every_broken_invariant_is_named_and_the_strictest_decides(build: Build) -> None:
    house = build(
        policy=rules(
            all=ALLOW_ALL,
            **{
                "invariant.a": {**INVARIANT, "on_fail": "defer"},
                "invariant.b": {"v": 1, "effect": "deny", "when": EXCLUSIVE, "on_fail": "block"},
            },
        )
    )
    session = house.session()
    answer = one(
        house.agent.propose(session, [delta(goal__temperature=100, goal__ship=1, goal__freeze=True)])
    )
    assert (answer.verdict, answer.on_fail) == ("deny", "block")
    assert codes(answer) == ["GOAL_CONFLICT", "INVARIANT_BROKEN"]
    assert answer.reason_code == "GOAL_CONFLICT"


def test_candidates_are_judged_in_order_each_on_what_the_allowed_ones_before_it_leave(build: Build) -> None:
    needs = {
        "v": 1,
        "effect": "deny",
        "subject": None,
        "when": when("exists", "goal.lock"),
        "on_fail": "defer",
    }
    house = build(policy=rules(all=ALLOW_ALL, lock=needs))
    session = house.session()
    answer = house.agent.propose(
        session, [delta(goal__a=1), delta(fact__no=1), delta(goal__lock=1), delta(goal__b=1)]
    )
    assert [result.reason_code for result in answer.results] == [
        "ALLOWED",
        "NOT_AUTHORISED",
        "ALLOWED",
        "DEFER",
    ]
    assert set(house.state(session).substrate.symbolic_state) == {"goal.a", "goal.lock"}
    assert answer.state_snapshot_id == house.state(session).substrate.state_snapshot_id
    house.check(session)


# -- snapshots ------------------------------------------------------------------------------------------


READS_FACT = {"v": 1, "effect": "deny", "subject": None, "when": when("eq", "fact.mode.value", "off")}


def test_a_proposal_on_an_old_snapshot_is_rebased_if_nothing_it_reads_or_writes_has_changed(
    build: Build,
) -> None:
    house = build(policy=rules(all=ALLOW_ALL, reads=READS_FACT))
    session = house.session()
    old = house.agent.propose(session, [delta(goal__x=1)]).state_snapshot_id
    house.encoder.propose(session, [delta(fact__other=1)])
    answer = house.agent.propose(session, [delta(goal__y=1)], state_snapshot_id=old)
    assert one(answer).verdict == "allow"
    house.check(session)


@pytest.mark.parametrize(
    ("meanwhile", "keys"),
    [
        (delta(goal__y=5), ("goal.y",)),
        (remove("goal.y"), ("goal.y",)),
        (delta(goal__y=5, goal__x=6), ("goal.y",)),
    ],
)
def test_a_proposal_on_an_old_snapshot_that_writes_what_has_changed_is_a_conflict_with_the_keys(
    build: Build, meanwhile: dict[str, Any], keys: tuple[str, ...]
) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    old = house.agent.propose(session, [delta(goal__x=1, goal__y=1)]).state_snapshot_id
    house.agent.propose(session, [meanwhile])
    before = house.hash(session)
    answer = one(house.agent.propose(session, [delta(goal__y=2)], state_snapshot_id=old))
    assert (answer.verdict, codes(answer)) == ("deny", ["CONFLICT"])
    assert answer.reasons[0].keys == keys
    assert house.hash(session) == before
    newest = house.state(session).substrate.state_snapshot_id
    assert one(house.agent.propose(session, [delta(goal__y=2)], state_snapshot_id=newest)).verdict == "allow"
    house.check(session)


def test_a_proposal_on_an_old_snapshot_whose_rules_read_what_has_changed_is_a_conflict(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL, reads=READS_FACT))
    session = house.session()
    old = house.encoder.propose(session, [delta(fact__mode="on")]).state_snapshot_id
    house.encoder.propose(session, [delta(fact__mode="still on")])
    for candidate in (delta(goal__x=1), {"kind": "tool_call", "tool_id": "note.read"}):
        asked = dict(candidate)
        if asked["kind"] == "tool_call":
            asked["capability_token"] = house.token(session)
        answer = one(house.agent.propose(session, [asked], state_snapshot_id=old))
        assert codes(answer) == ["CONFLICT"]
        assert answer.reasons[0].keys == ("fact.mode",)
    assert house.toolbox.count == 0
    house.check(session)


def test_the_genesis_is_a_snapshot_too(house: ToolWorld) -> None:
    session = house.session()
    assert house.agent.show_state(session).state_snapshot_id == "genesis"
    house.agent.propose(session, [delta(goal__x=1)])
    assert codes(one(house.agent.propose(session, [delta(goal__x=2)], state_snapshot_id="genesis"))) == [
        "CONFLICT"
    ]
    assert (
        one(house.agent.propose(session, [delta(goal__y=2)], state_snapshot_id="genesis")).verdict == "allow"
    )


def test_a_snapshot_that_never_was_is_no_ground_to_judge_on(house: ToolWorld) -> None:
    session, other = house.session(), house.session()
    foreign = house.agent.propose(other, [delta(goal__x=1)]).state_snapshot_id
    head = house.root.query_belief(session).audit_head_event_id
    for name in ("nonsense", foreign, head):
        answer = house.agent.propose(session, [delta(goal__x=1), delta(goal__y=1)], state_snapshot_id=name)
        assert [codes(result) for result in answer.results] == [["UNKNOWN_SNAPSHOT"], ["UNKNOWN_SNAPSHOT"]]
    assert len(house.state(session).substrate.symbolic_state) == 0
    house.check(session)


def test_every_past_snapshot_can_be_read_again_with_the_constraints_of_its_time(build: Build) -> None:
    first = rules(all=ALLOW_ALL)
    house = build(policy=first)
    session = house.session()
    seen: dict[str, tuple[dict[str, Any], set[str]]] = {"genesis": ({}, set(first.constraints))}
    for number in range(5):
        if number == 3:
            house.steward.in_force.adopt(rules(all=ALLOW_ALL, more=READS_FACT))
        answer = house.agent.propose(session, [delta(goal__x=number), delta(**{f"goal__y{number}": 1})])
        now = house.agent.show_state(session)
        assert now.state_snapshot_id == answer.state_snapshot_id
        state = dict(house.state(session).substrate.symbolic_state)
        seen[answer.state_snapshot_id] = (state, set(house.steward.in_force.policy.constraints))
        house.agent.propose(session, [delta(fact__refused=1)])
    house = house.restarted() if house.target != ":memory:" else house
    for name, (state, constraints) in seen.items():
        shown = house.agent.show_state(session, at=name)
        assert shown.state_snapshot_id == name
        keys = {key for key in shown.f_sparse if key.startswith("constraint.")}
        by_policy = {key for key in shown.f_sparse if key.startswith("policy.")}
        assert {key: value for key, value in shown.f_sparse.items() if key not in keys | by_policy} == state
        assert keys == constraints
    refused(Code.INVALID_REQUEST, lambda: house.agent.show_state(session, at="never"))
    house.close()


def test_what_a_caller_does_to_its_own_values_afterwards_changes_nothing(house: ToolWorld) -> None:
    """In one process callers and state could share a value; they must not."""
    session = house.session()
    value: dict[str, Any] = {"v": 1, "list": [1]}
    house.agent.propose(session, [{"kind": "delta", "patch": {"set": {"goal.x": value}}}])
    before = house.hash(session)
    value["list"].append(2)
    shown = house.agent.show_state(session)
    shown.f_sparse["goal.x"]["list"].append(3)
    shown.f_sparse["constraint.all"]["effect"] = "deny"
    assert house.hash(session) == before
    assert one(house.agent.propose(session, [delta(goal__y=1)])).verdict == "allow"
    house.check(session)


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object(), b"bytes", {"x": {1: 2}}, "\ud800", 2**60])
def test_python_values_that_are_no_json_are_refused_at_the_door(house: ToolWorld, value: Any) -> None:
    session = house.session()
    before = len(house.ledger(session))
    asked = {"kind": "delta", "patch": {"set": {"goal.x": {"v": 1, "value": value}}}}
    refused(Code.INVALID_REQUEST, lambda: house.agent.propose(session, [asked]))
    assert len(house.ledger(session)) == before


def test_a_terminated_session_takes_no_proposal(house: ToolWorld) -> None:
    session = house.session()
    house.root.request_termination(session, context={"force": True})
    refused(Code.SESSION_TERMINATED, lambda: house.agent.propose(session, [delta(goal__x=1)]))
    house.check(session)
