"""What can be read in two ways: a dot in a name hides nothing from a rule, in calls and in the state."""

from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.policy import Policy, recorded
from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from beliefd.kernel.substrate.constraint_index import ConstraintIndex
from beliefd.kernel.substrate.constraints import Action, Judgement, judge, read_constraint
from beliefd.kernel.substrate.paths import ABSENT, is_ambiguous, look_up
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.testing.world import policy
from tests.substrate.support import (
    ALLOW_ALL,
    ToolWorld,
    allow,
    codes,
    delta,
    deny,
    one,
    remove,
    tool_call,
    when,
)

BIG: Final = when("eq", "call.args.pay.sum", 500)
HIDDEN: Final = {"pay": {"sum": 500}, "pay.sum": 1}
LARGE: Final = deny("note.read", when=when("eq", "fact.order.size", "large"))


def ruled(**constraints: Any) -> Policy:
    named = {f"constraint.{name}": value for name, value in constraints.items()}
    return policy(constraints={"constraint.all": ALLOW_ALL, **named})


def tried(given: Policy, args: dict[str, Any]) -> Any:
    with ToolWorld(policy=given) as house:
        house.toolbox.add("pay", lambda **_: "paid", network=False)
        session = house.session()
        said = one(house.agent.propose(session, [tool_call("pay", house.token(session), **args)]))
        house.check(session)
        return said


@pytest.mark.parametrize(
    "rule",
    [
        deny("pay", when=BIG),
        deny("pay", when=BIG, on_fail="ask"),
        deny("pay", when=when("not", when("eq", "call.args.pay.sum", 1))),
        allow("pay", when=when("eq", "call.args.pay.sum", 1)),
    ],
)
def test_a_call_that_a_rule_can_read_in_two_ways_is_denied_with_the_path(rule: dict[str, Any]) -> None:
    said = tried(ruled(big=rule), HIDDEN)
    assert (said.verdict, said.on_fail) == ("deny", "block")
    told = next(reason for reason in said.reasons if reason.code == "AMBIGUOUS_ARGUMENT")
    assert (told.constraint, told.keys) == ("constraint.big", ("call.args.pay.sum",))


def test_what_no_rule_about_the_call_reads_may_have_any_name() -> None:
    assert tried(ruled(other=deny("note.read", when=BIG)), HIDDEN).verdict == "allow"
    assert tried(ruled(big=deny("pay", when=BIG)), {"pay": {"to": "ann"}, "pay.sum": 1}).verdict == "allow"


def test_ledgers_from_before_are_decided_by_the_longest_name() -> None:
    before = ArbitrationPolicy(meaning=1)
    assert recorded({"arbitration": {"constraints": 2, "reasons": "effect"}}).arbitration.meaning == 1
    earlier = policy(
        constraints={"constraint.all": ALLOW_ALL, "constraint.big": deny("pay", when=BIG)}, arbitration=before
    )
    assert tried(earlier, HIDDEN).verdict == "allow"


@pytest.mark.parametrize("reader", ["constraint", "rule"])
def test_a_change_that_makes_a_path_ambiguous_which_is_read_is_denied(reader: str) -> None:
    rule = {"v": 1, "when": when("eq", "fact.order.size", "large"), "derive": {"fact.large": {"v": 1}}}
    constraints: dict[str, Any] = {"constraint.all": ALLOW_ALL}
    given = (
        policy(constraints={**constraints, "constraint.large": LARGE})
        if reader == "constraint"
        else policy(constraints=constraints, rules={"rule.large": rule})
    )
    with ToolWorld(policy=given) as house:
        session = house.session()
        one(house.encoder.propose(session, [delta(fact__order={"v": 1, "size": "large"})]))
        shadow = {"kind": "delta", "patch": {"set": {"fact.order.size": {"v": 1}}}}
        no = one(house.encoder.propose(session, [shadow]))
        assert (no.verdict, codes(no), no.reasons[0].keys) == (
            "deny",
            ["AMBIGUOUS_STATE"],
            ("fact.order.size",),
        )
        other = {"kind": "delta", "patch": {"set": {"fact.order.colour": {"v": 1}}}}
        assert one(house.encoder.propose(session, [other])).verdict == "allow"
        house.check(session)


def test_a_state_that_was_ambiguous_before_the_rule_stops_calls_and_can_be_mended(tmp_path: Path) -> None:
    with ToolWorld(tmp_path / "house.db", policy=ruled()) as house:
        session = house.session()
        both = {"fact.order": {"v": 1, "size": "large"}, "fact.order.size": {"v": 1}}
        one(house.encoder.propose(session, [{"kind": "delta", "patch": {"set": both}}]))
        with house.restarted(ruled(large=LARGE)) as later:
            look = tool_call("note.read", later.token(session))
            assert "AMBIGUOUS_STATE" in codes(one(later.agent.propose(session, [look])))
            # What was ambiguous before may be written on the way to where it is not.
            closer = {"set": {"fact.order": {"v": 1, "size": "large", "seen": True}}}
            written = one(later.encoder.propose(session, [{"kind": "delta", "patch": closer}]))
            assert written.verdict == "allow"
            assert one(later.encoder.propose(session, [remove("fact.order.size")])).verdict == "allow"
            assert codes(one(later.agent.propose(session, [look]))) == ["DENIED"]
            later.check(session)


names = st.sampled_from(["a", "b", "a.a", "a.b", "b.a", "a.b.a", "v"])
values = st.recursive(
    st.integers(0, 2), lambda inner: st.dictionaries(names, inner, max_size=4), max_leaves=10
)
objects = st.dictionaries(names, values, max_size=4)
paths = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map(".".join)


def readings(value: Any, path: str) -> list[Any]:
    """Every way to cut a path into names, and what each leads to."""
    steps = path.split(".")
    found = []
    for at in range(1, len(steps) + 1):
        name, rest = ".".join(steps[:at]), ".".join(steps[at:])
        if isinstance(value, dict) and name in value:
            found += readings(value[name], rest) if rest else [value[name]]
    return found


@settings(max_examples=400, deadline=None)
@given(objects, paths)
def test_a_path_is_ambiguous_if_another_reading_than_the_one_taken_leads_somewhere(
    value: dict[str, Any], path: str
) -> None:
    found, taken = readings(value, path), look_up(value, path)
    assert is_ambiguous(value, path) == (len(found) > (taken is not ABSENT))


def told(judgement: Judgement) -> Any:
    return judgement.on_fail, sorted((one.constraint.key, one.code, one.path) for one in judgement.failures)


@settings(max_examples=300, deadline=None)
@given(objects, objects, objects, paths, paths, st.sampled_from(["allow", "deny"]))
def test_the_index_says_what_the_naive_reading_says(
    args: dict[str, Any], first: dict[str, Any], then: dict[str, Any], path: str, other: str, effect: str
) -> None:
    raw = {
        "constraint.call": {"v": 1, "effect": effect, "when": when("eq", f"call.args.{path}", 1)},
        "constraint.state": {"v": 1, "effect": effect, "when": when("eq", f"fact.a.{other}", 1)},
    }
    index = ConstraintIndex(raw, lambda _, __: True)
    read = [read_constraint(key, value) for key, value in raw.items()]
    state = SymbolicState({"fact.a": first})
    state.truths(index)
    later = state.patched({"fact.a": then, "fact.a.a": first})
    for now in (state, later, later.patched({}, ("fact.a.a",))):
        action = Action("pay", args=args)
        assert told(now.truths(index).judge(now, action)) == told(
            judge(read, now, action, lambda _, __: True)
        )
