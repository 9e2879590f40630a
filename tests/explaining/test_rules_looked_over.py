"""Rules that derive facts are looked over and tried like constraints."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from rpds import HashTrieMap

from beliefd.kernel.parts import EMPTY
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.rulebook import rule_set
from beliefd.ledger.chain import policy_hash
from beliefd.policy.coverage import coverage
from beliefd.policy.lint import lint
from beliefd.policy.trial import try_cases
from beliefd.testing.world import policy
from tests.proving.test_rules import rules as some_rules
from tests.proving.test_rules import states
from tests.substrate.support import when

NOW = "2026-01-01T00:00:00Z"


def rule(key: str, condition: Any = None, value: Any = None) -> dict[str, Any]:
    return {"v": 1, "when": condition, "derive": {key: value or {"v": 1}}}


def deriving(*read: str, **rules: Any) -> Policy:
    """Rules, and one constraint per key that is read."""
    constraints = {
        f"constraint.{at}": {"v": 2, "effect": "deny", "subject": None, "when": when("exists", key)}
        for at, key in enumerate(read)
    }
    return policy(constraints=constraints, rules={f"rule.{name}": one for name, one in rules.items()})


THERE, FIVE = when("exists", "fact.a"), when("gt", "fact.a.n", 5)
D = rule("fact.d", THERE, {"v": 1, "n": 1})


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (deriving("fact.d", a=D), []),
        (deriving(a=D), [("UNREAD", "rule.a", "")]),
        (
            deriving("fact.d", a=rule("fact.d", when("all", FIVE, when("lt", "fact.a.n", 5)))),
            [("NEVER_FIRES", "rule.a", ""), ("NEVER_FIRES", "constraint.0", "")],
        ),
        # what another derives never has that value
        (
            deriving("fact.e", a=D, b=rule("fact.e", when("eq", "fact.d.n", 2))),
            [("NEVER_FIRES", "rule.b", ""), ("NEVER_FIRES", "constraint.0", "")],
        ),
        (
            deriving("fact.e", a=D, b=rule("fact.e", None, {"v": 1, "m": {"from": "fact.d.m"}})),
            [("NEVER_FIRES", "rule.b", ""), ("NEVER_FIRES", "constraint.0", "")],
        ),
        # facts that rest on each other and on nothing else
        (
            deriving(
                "fact.e",
                a=rule("fact.d", when("exists", "fact.e")),
                b=rule("fact.e", when("exists", "fact.d")),
            ),
            [("NEVER_FIRES", name, "") for name in ("rule.a", "rule.b", "constraint.0")],
        ),
        (
            deriving("fact.d", a=rule("fact.d", FIVE), b=rule("fact.d", when("gt", "fact.a.n", 9))),
            [("SHADOWED", "rule.b", "rule.a")],
        ),
        (
            deriving("fact.d", a=rule("fact.d", when("gt", "fact.a.n", 9)), b=rule("fact.d", FIVE)),
            [("SHADOWED", "rule.a", "rule.b")],
        ),
        (
            deriving("fact.d", a=rule("fact.d", when("any", THERE, when("missing", "fact.a")))),
            [("IDLE_CONDITION", "rule.a", "")],
        ),
        (deriving("fact.d", a=rule("fact.d", when("not", FIVE))), [("NOT_OF_COMPARISON", "rule.a", "")]),
        (deriving("fact.d", a=rule("fact.d", when("exists", "fcat.a"))), [("UNKNOWN_KEY", "rule.a", "")]),
    ],
)
def test_what_is_wrong_with_rules_is_named(found: Policy, wanted: list[Any]) -> None:
    said = [(one.code, one.constraint, one.other) for one in lint(found).findings]
    assert sorted(said) == sorted(wanted)


@settings(max_examples=60, deadline=None)
@given(made=some_rules())
def test_a_rule_that_is_said_never_to_fire_fires_in_no_state(made: dict[str, Any]) -> None:
    found = msgspec.convert({"rules": made}, Policy)
    said = {(one.code, one.constraint): one for one in lint(found).findings}
    rules = rule_set(found, policy_hash(found))
    for state in states(found):
        done = rules.settle_anew(HashTrieMap(state), EMPTY, 0)
        kept = {key: value for key, value in state.items() if key not in done.fell}
        after = {**kept, **{key: one.value for key, one in done.set.items()}}
        for clause in (one for some in rules.by_key.values() for one in some):
            fires = clause.fact(after, rules.fits) is not None
            assert not (fires and ("NEVER_FIRES", clause.rule) in said)
            if (hidden := said.get(("SHADOWED", clause.rule))) is not None and fires:
                others = [one for one in rules.by_key[clause.key] if one.rule == hidden.other]
                assert all(one.fact(after, rules.fits) is not None for one in others)


CASES = """
cases:
  - name: on a state
    state: {fact.a: {v: 1}}
    call: {tool_id: pay}
    expect: {verdict: deny}
  - name: after a change
    delta: {set: {fact.b: {v: 1}}}
    role: encoder
    expect: {verdict: allow}
"""


def test_rules_that_no_case_made_fire_are_named(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(CASES)
    found = deriving("fact.d", a=D, b=rule("fact.e", when("exists", "fact.b")), c=rule("fact.f", FIVE))
    allow = {"constraint.z": {"v": 1, "effect": "allow", "subject": None}}
    found = msgspec.structs.replace(found, constraints={**found.constraints, **allow})
    covered = coverage(found, [case.fired for case in try_cases(found, path, NOW)])
    assert (covered.constraints, covered.rules, covered.fired) == (2, 3, 4)
    assert [(one.constraint, one.effect) for one in covered.untried] == [("rule.c", "rule")]
