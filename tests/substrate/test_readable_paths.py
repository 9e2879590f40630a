"""Conditions that read what is never there, and invariants that never see a call, are refused by name."""

from typing import Any

import pytest

from beliefd.kernel.policy import Policy
from beliefd.policy.compiling import Problem, problems
from beliefd.policy.path_names import call_members
from beliefd.testing.world import policy
from tests.substrate.support import ALLOW_ALL, ToolWorld, codes, delta, one, rules, tool_call, when


def reading(path: str, name: str = "a", **more: Any) -> Policy:
    given = {"v": 1, "effect": "deny", "subject": None, "when": when("exists", path)}
    return rules(**{name: {**given, **more}})


def found(given: Policy) -> list[Problem]:
    return list(problems(given))


@pytest.mark.parametrize(
    ("path", "said", "meant"),
    [
        ("constraint.z", "conditions do not read `constraint.*`", None),
        ("rule.r", "conditions do not read `rule.*`", None),
        ("args.amount", "is never there", "call.args.amount"),
        ("tool_id", "is never there", "call.tool_id"),
        ("call.arg.amount", "`call` has no `arg`", "call.args.amount"),
        ("call.tool", "`call` has no `tool`", "call.tool_id"),
        ("call.tier.name", "`call.tier` has no members", "call.tier"),
        ("facts.x", "is never there", "fact.x"),
        ("goals.x.y", "is never there", "goal.x.y"),
        ("elsewhere", "is never there", None),
        ("goal", "it is a namespace, and no key", None),
    ],
)
def test_a_path_at_which_there_never_is_anything_is_refused(path: str, said: str, meant: str | None) -> None:
    [problem] = found(reading(path))
    assert problem.path == "$.constraints.constraint.a"
    assert f"`{path}` is never there" in problem.message
    assert said in problem.message
    assert ("did you mean" in problem.remedy) is (meant is not None)
    assert meant is None or f"did you mean `{meant}`?" in problem.remedy


@pytest.mark.parametrize("path", ["fact.x", "goal.a.b", "call", "call.args.a.b", "policy.mode", "policy"])
def test_a_path_at_which_there_may_be_something_is_not(path: str) -> None:
    assert found(reading(path)) == []


def test_rules_and_promises_are_looked_at_too() -> None:
    derive = {"v": 1, "derive": {"fact.d": {"v": 1, "x": {"from": "facts.x"}}}}
    assert [each.path for each in found(policy(rules={"rule.r": derive}))] == ["$.rules.rule.r"]
    promise = {"never": "at_all", "when": when("exists", "call.arg.x")}
    assert [each.path for each in found(policy(prove=[promise]))] == ["$.prove[0].when"]


def test_the_members_of_a_call_are_those_of_a_call() -> None:
    """Each is there when a call is judged; of a change, `tier` and `mutates` are not, and two are null."""
    for member in call_members():
        with ToolWorld(policy=_with_all(f"call.{member}")) as house:
            session = house.session()
            called = one(house.agent.propose(session, [tool_call("note.read", house.token(session))]))
            assert codes(called) == ["DENIED"], member
            changed = one(house.agent.propose(session, [delta(goal__a=1)]))
            assert (changed.verdict == "allow") is (member in ("tier", "mutates")), member
    for member in ("tool_id", "args"):
        with ToolWorld(policy=_with_all(f"call.{member}", when("eq", f"call.{member}", None))) as house:
            assert codes(one(house.agent.propose(house.session(), [delta(goal__a=1)]))) == ["DENIED"]


def _with_all(path: str, condition: dict[str, Any] | None = None) -> Policy:
    reads = {"v": 1, "effect": "deny", "subject": None, "when": condition or when("exists", path)}
    return rules(z=ALLOW_ALL, a=reads)


# -- invariants --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_an_invariant_that_reads_a_call_is_refused(version: int) -> None:
    [problem] = found(reading("call.tool_id", "invariant.i", v=version))
    assert problem.path == "$.constraints.constraint.invariant.i.when"
    assert "about states alone" in problem.message


def test_an_invariant_of_version_two_has_no_subject() -> None:
    subject = {"tool_id": "note.read"}
    [problem] = found(reading("goal.a", "invariant.i", v=2, subject=subject))
    assert problem.path == "$.constraints.constraint.invariant.i.subject"
    assert found(reading("goal.a", "invariant.i", v=1, subject=subject)) == []
    assert found(reading("goal.a", "invariant.i", v=2)) == []


# -- what an answer names ----------------------------------------------------------------------------------

DERIVES = policy(
    constraints={"constraint.z": ALLOW_ALL}, rules={"rule.r": {"v": 1, "derive": {"fact.a.b": {"v": 1}}}}
)


@pytest.mark.parametrize("key", ["fact.a", "fact.a.b", "fact.a.b.c"])
def test_the_fact_that_is_derived_is_named_and_not_the_key_that_was_written(key: str) -> None:
    with ToolWorld(policy=DERIVES) as house:
        change = {"kind": "delta", "patch": {"set": {key: {"v": 1, "b.c": 1}}}}
        answer = one(house.encoder.propose(house.session(), [change], source="encoder"))
    [reason] = answer.reasons
    assert (reason.code, reason.keys) == ("DERIVED", (key,))
    assert reason.text == "`fact.a.b` is derived by `rule.r`, and not written by hand"


@pytest.mark.parametrize("given", [DERIVES, rules(z=ALLOW_ALL)])
def test_rules_are_a_namespace_of_the_kernel_with_and_without_any(given: Policy) -> None:
    with ToolWorld(policy=given) as house:
        session = house.session()
        changes = [{"kind": "delta", "patch": {"set": {key: {"v": 1}}}} for key in ("rule.x", "nowhere.x")]
        owned, unknown = house.agent.propose(session, changes).results
    assert codes(owned) == ["KERNEL_OWNED"]
    assert codes(unknown) == ["UNKNOWN_NAMESPACE"]
    assert "rule.*" in unknown.reasons[0].text


def test_ledgers_from_before_are_answered_in_the_words_of_before() -> None:
    given = policy(
        constraints={"constraint.z": ALLOW_ALL},
        rules={"rule.r": {"v": 1, "derive": {"fact.a.b": {"v": 1}}}},
        arbitration={"failures": "first"},
    )
    with ToolWorld(policy=given) as house:
        session = house.session()
        written = {"kind": "delta", "patch": {"set": {"fact.a": {"v": 1, "b.c": 1}}}}
        derived = one(house.encoder.propose(session, [written], source="encoder"))
        owned = one(house.agent.propose(session, [{"kind": "delta", "patch": {"set": {"rule.x": {"v": 1}}}}]))
    assert derived.reasons[0].text.startswith("`fact.a` is derived by")
    assert codes(owned) == ["KERNEL_OWNED", "UNKNOWN_NAMESPACE"]
    assert "rule.*" not in owned.reasons[1].text
