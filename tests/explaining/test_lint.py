"""`policy lint`: what is said of a policy is so, and a policy without faults is left alone."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.operators import TABLE
from beliefd.kernel.substrate.predicates import holds, parse
from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.ledger.chain import policy_hash
from beliefd.policy.lint import lint
from beliefd.policy.presets import PRESETS, preset
from beliefd.testing.world import policy
from tests.substrate import strategies as some
from tests.substrate.support import when

SMALL = when("le", "call.args.amount", 100)
LARGE = when("gt", "call.args.amount", 100)
HUGE = when("gt", "call.args.amount", 1_000)
TOOL = {"schema": {"type": "object", "properties": {"amount": {"type": "number"}}}, "capabilities": ["money"]}


def rule(effect: str, condition: Any = None, **more: Any) -> dict[str, Any]:
    return {"v": 2, "effect": effect, "subject": {"tool_id": "pay"}, "when": condition, **more}


def found(*, tools: Any = None, **constraints: Any) -> list[tuple[str, str, str]]:
    named = {f"constraint.{name}": value for name, value in constraints.items()}
    given_policy = policy(constraints=named, tools={"pay": TOOL} if tools is None else tools)
    return [(one.code, one.constraint, one.other) for one in lint(given_policy).findings]


@pytest.mark.parametrize(
    ("constraints", "wanted"),
    [
        # a condition that comes out one way only
        ({"a": rule("deny", when("all", SMALL, LARGE))}, [("NEVER_FIRES", "constraint.a", "")]),
        ({"a": rule("allow", when("all", SMALL, LARGE))}, [("NEVER_ALLOWS", "constraint.a", "")]),
        (
            {"a": rule("deny", when("any", when("exists", "fact.x"), when("missing", "fact.x")))},
            [("ALWAYS_FIRES", "constraint.a", "")],
        ),
        ({"a": rule("allow", when("all"))}, [("IDLE_CONDITION", "constraint.a", "")]),
        ({"a": rule("deny", when("eq", "call.role", "robot"))}, [("NEVER_FIRES", "constraint.a", "")]),
        ({"a": rule("deny", when("in", "call.mode", []))}, [("NEVER_FIRES", "constraint.a", "")]),
        # one behind the other
        (
            {"a": rule("deny", LARGE), "b": rule("deny", HUGE)},
            [("SHADOWED", "constraint.b", "constraint.a")],
        ),
        (
            {"a": rule("deny", None, subject=None), "b": rule("ask", HUGE)},
            [("SHADOWED", "constraint.b", "constraint.a")],
        ),
        (
            {"a": rule("ask", LARGE), "b": rule("deny", HUGE)},
            [("OVERLAPPING", "constraint.a", "constraint.b")],
        ),
        (
            {"a": rule("deny", LARGE), "b": rule("deny", LARGE)},
            [("DUPLICATE", "constraint.b", "constraint.a")],
        ),
        (
            {"a": rule("allow", HUGE), "b": rule("deny", LARGE)},
            [("UNREACHABLE", "constraint.a", "constraint.b")],
        ),
        # names that nothing stands behind
        ({"a": rule("deny", subject={"tool_id": "payy"})}, [("UNKNOWN_TOOL", "constraint.a", "")]),
        ({"a": rule("deny", subject={"capability": "mony"})}, [("UNKNOWN_CAPABILITY", "constraint.a", "")]),
        (
            {"a": rule("deny", subject={"capability": "write:facts"})},
            [("UNKNOWN_CAPABILITY", "constraint.a", "")],
        ),
        ({"a": rule("deny", when("exists", "facts.x"))}, [("UNKNOWN_KEY", "constraint.a", "")]),
        ({"a": rule("deny", when("gt", "call.arg.amount", 1))}, [("UNKNOWN_KEY", "constraint.a", "")]),
        ({"a": rule("deny", when("gt", "call.args.amout", 1))}, [("UNKNOWN_ARGUMENT", "constraint.a", "")]),
        # a comparison turned round
        ({"a": rule("allow", when("not", LARGE))}, [("NOT_OF_COMPARISON", "constraint.a", "")]),
    ],
)
def test_what_is_wrong_is_named(constraints: dict[str, Any], wanted: list[Any]) -> None:
    assert found(**constraints) == wanted


@pytest.mark.parametrize(
    "constraints",
    [
        {"a": rule("allow"), "b": rule("ask", LARGE)},
        {"a": rule("deny", LARGE), "b": rule("deny", when("eq", "fact.x.n", 1))},
        {"a": rule("deny", when("not", when("eq", "call.args.amount", 1)))},
        # What denies of what is missing is on the safe side.
        {"a": rule("deny", when("not", SMALL))},
        {"a": rule("deny", when("any", when("missing", "call.args.amount"), when("not", SMALL)))},
        {"a": rule("deny", when("exists", "policy.version"))},
        # No values stand for all texts that fit both: nothing is said of them.
        {
            "a": rule(
                "deny",
                when("all", when("matches", "fact.x.n", "ab"), when("starts_with", "fact.x.n", "x")),
            )
        },
        {"a": rule("deny", when("matches", "fact.x.n", "^[a-f]{3}$"))},
        {"a": rule("deny", when("all", when("gt", "fact.x.n", 0.1), when("lt", "fact.x.n", 0.2)))},
    ],
)
def test_what_is_right_is_left_alone(constraints: dict[str, Any]) -> None:
    assert found(**constraints) == []


def test_a_key_that_looks_like_one_that_others_read_is_asked_about() -> None:
    one, other = when("exists", "fact.deploy_window"), when("exists", "fact.deploy_windows")
    rest = {"a": rule("deny", when("all", one, SMALL)), "b": rule("ask", when("all", one, HUGE))}
    assert ("SIMILAR_KEYS", "constraint.c", "") in found(**rest, c=rule("defer", other))


@pytest.mark.parametrize("name", PRESETS)
def test_what_we_ship_has_no_warnings(name: str) -> None:
    assert lint(preset(name)).warnings == 0


@settings(max_examples=80)
@given(constraints=some.policies, state=some.states, action=some.actions)
def test_what_is_said_to_come_out_one_way_never_comes_out_another(
    constraints: dict[str, Any], state: dict[str, Any], action: Any
) -> None:
    """Random policies on random states: no verdict of lint about one condition is contradicted."""
    given_policy: Policy = policy(constraints=constraints, schemas=some.SCHEMAS)
    rules = rulebook(given_policy, policy_hash(given_policy))
    by_key = {one.key: one for one in rules.constraints}
    known = action.known(state)
    said = {"NEVER_FIRES": False, "NEVER_ALLOWS": False, "ALWAYS_FIRES": True, "IDLE_CONDITION": True}
    for finding in lint(given_policy).findings:
        condition = by_key[finding.constraint].when
        if finding.code in said and condition is not None:
            assert holds(condition, known, rules.fits) is said[finding.code], (finding, constraints)
        elif finding.code == "SHADOWED" and condition is not None:
            other = by_key[finding.other].when
            assert not holds(condition, known, rules.fits) or other is None or holds(other, known, rules.fits)


@given(op=st.sampled_from(sorted(name for name, one in TABLE.items() if one.version > 1)))
def test_every_later_operator_is_known_under_not(op: str) -> None:
    args = {
        "between": (1, 2),
        "age_over": (1,),
        "count": ("gt", 1),
        "subset": (["a"],),
        "intersects": (["a"],),
        **dict.fromkeys(("starts_with", "ends_with", "matches"), ("a",)),
    }.get(op, (1,))
    condition = when("not", when(op, "fact.x.n", *args))
    assert parse(condition).op == "not"
    assert ("NOT_OF_COMPARISON", "constraint.a", "") in found(a=rule("allow", condition))


@pytest.mark.slow
def test_thousands_of_constraints_are_looked_over() -> None:
    many = {
        f"c{number}": rule(
            "deny", when("gt", "call.args.amount", number), subject={"tool_id": f"t{number % 500}"}
        )
        for number in range(3_000)
    }
    assert found(tools={}, **many)
