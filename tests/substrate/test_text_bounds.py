"""What one search may cost is bounded: by the size of a pattern, and by the length of the text."""

from typing import Any

import msgspec
import pytest
from rpds import HashTrieMap

from beliefd.kernel.parts import Growing
from beliefd.kernel.policy import Policy, recorded
from beliefd.kernel.substrate.arbitration_policy import Engine
from beliefd.kernel.substrate.constraint_index import ConstraintIndex
from beliefd.kernel.substrate.constraints import Action, judge
from beliefd.kernel.substrate.derived import Source
from beliefd.kernel.substrate.deriving import RuleSet, too_large
from beliefd.kernel.substrate.explaining import explain_call
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.rule_reading import Unjudged
from beliefd.kernel.substrate.schemas import BadPattern, BadSchema, Pattern, Schema
from beliefd.kernel.substrate.text_bounds import MAX_COMPILED, MAX_WORK, SIZES, TextTooLong
from beliefd.ledger.chain import policy_hash
from beliefd.policy.backtesting.unknowns import Unknown, undecided
from tests.substrate.support import when

EARLIER = Engine(bounded=False)
HUGE = ("(a{1,99}){1,99}z", r"^([\w.-]{1,64}[ ,;]*){1,50}$", "(.{1,30}){1,30}")
ORDINARY = (
    r"^[\w.+-]+@[\w-]+\.[\w.]+$",
    r"^https?://([a-z0-9-]+\.)*example\.com(/.*)?$",
    r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    r"(?i)\b(drop|delete|truncate)\s+table\b",
    r"^\w{1,64}$",
    "x" * 1_000,
)
LARGE = "(a{1,20}){1,20}z"
TEXT = "a" * 100_000


def trust(_: str, __: Any) -> bool:
    return True


@pytest.mark.parametrize("text", HUGE)
def test_a_pattern_that_is_huge_when_compiled_is_none(text: str) -> None:
    with pytest.raises(BadPattern, match="too large"):
        Pattern(text)
    with pytest.raises(BadSchema):
        Schema({"properties": {"a": {"pattern": text}}})
    assert Pattern(text, EARLIER)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_patterns_are_held_against_ordinary_texts(text: str) -> None:
    pattern = Pattern(text)
    assert pattern.compiled_bytes <= MAX_COMPILED
    pattern.found_in("a" * 4_096)
    Schema({"pattern": text}).fits("a" * 4_096)


def test_the_larger_the_pattern_the_shorter_the_text() -> None:
    for text in (*ORDINARY, LARGE):
        pattern = Pattern(text)
        assert pattern.compiled_bytes in SIZES
        most = MAX_WORK // pattern.compiled_bytes
        pattern.found_in(" " * most)
        with pytest.raises(TextTooLong, match=str(most)):
            pattern.found_in(" " * (most + 1))
        assert not Pattern("b", EARLIER).found_in("a" * 2_000_000)


INSIDE = {"properties": {"t": {"pattern": LARGE}}}
CONSTRAINTS = {
    "a deny": {"effect": "deny", "when": when("matches", "call.args.t", LARGE)},
    "not": {"effect": "deny", "when": when("not", when("matches", "call.args.t", LARGE))},
    "an ask": {"effect": "ask", "when": when("matches", "call.args.t", LARGE)},
    "an allow": {"effect": "allow", "when": when("matches", "call.args.t", LARGE)},
    "a schema": {"effect": "deny", "when": when("schema", "call.args", INSIDE)},
    "no schema": {"effect": "deny", "when": when("schema", "call.args.t", {"not": {"pattern": LARGE}})},
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_what_cannot_be_judged_denies(name: str) -> None:
    """Whatever the constraint would lead to: as one that is malformed does."""
    index = ConstraintIndex({"constraint.x": {"v": 2, "subject": None, **CONSTRAINTS[name]}}, trust)
    action = Action("t", args={"t": TEXT})
    for found in (judge(index.constraints, {}, action, trust), index.truths({}).judge({}, action)):
        assert [one.code for one in found.failures] == ["TEXT_TOO_LONG"]
        assert found.on_fail == "block"
    assert index.allowing({}, action) == []
    assert undecided(index, action, {}, Unknown()) == []


def test_the_reason_says_what_is_too_long() -> None:
    constraints = {
        "constraint.ok": {"v": 1, "effect": "allow", "subject": None},
        "constraint.x": {"v": 2, "subject": None, **CONSTRAINTS["an ask"]},
    }
    given = msgspec.convert({"constraints": constraints, "tools": {"t": {"executor": "caller"}}}, Policy)
    asked = Question(tool_id="t", args={"t": TEXT})
    told = explain_call(given, policy_hash(given), {}, asked, (), None, "2030-01-01T00:00:00Z")
    reason = next(one for one in told.reasons if one.constraint == "constraint.x")
    assert (told.verdict, reason.code, reason.keys) == ("deny", "TEXT_TOO_LONG", ("call.args.t",))
    assert "`call.args.t` has 100000 characters" in reason.text


def test_a_rule_that_cannot_be_judged_lets_no_change_through() -> None:
    raw = {"v": 1, "when": when("matches", "fact.x.t", LARGE), "derive": {"fact.y": {"v": 1}}}
    rules = RuleSet({"rule.r": raw}, trust)
    assert not rules.problems
    with pytest.raises(Unjudged) as refused:
        rules.settle(HashTrieMap({"fact.x": {"v": 1, "t": TEXT}}), Growing[Source](), 0, ["fact.x"])
    assert too_large(refused.value).code == "TEXT_TOO_LONG"


def test_what_no_pattern_looks_at_may_be_long() -> None:
    """A path with a pattern, beside the content of a file."""
    raw = {"properties": {"path": {"pattern": LARGE}, "content": {"type": "string"}}, "required": ["path"]}
    schema = Schema(raw)
    assert schema.errors({"path": "aaz", "content": TEXT}) == ()
    assert "too long" in schema.errors({"path": TEXT})[0]
    with pytest.raises(TextTooLong):
        schema.fits({"path": TEXT})


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"items": {"pattern": LARGE}}, ["a" * 1_000] * 100),
        ({"allOf": [{"pattern": LARGE}]}, TEXT),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"pattern": LARGE}}}, TEXT),
        ({"patternProperties": {LARGE: {}}}, {TEXT: 1}),
        ({"propertyNames": {"pattern": LARGE}}, {TEXT: 1}),
        ({"additionalProperties": {"pattern": LARGE}}, {"x": TEXT}),
        ({"properties": {"x": {"anyOf": [{"type": "null"}, {"pattern": LARGE}]}}}, {"x": TEXT}),
        ({"pattern": "(?=a)(a+)+$"}, TEXT),
    ],
)
def test_all_ways_to_hold_a_text_against_a_pattern_count(raw: Any, value: Any) -> None:
    with pytest.raises(TextTooLong):
        Schema(raw).fits(value)
    Schema(raw, EARLIER)


def test_ledgers_from_before_are_decided_as_they_were() -> None:
    document: dict[str, Any] = {"arbitration": {"constraints": 2, "reasons": "effect"}}
    assert not recorded(document).arbitration.engine.bounded
    assert recorded({}).arbitration.engine == Engine(None, bounded=False)
    assert Policy().arbitration.engine == Engine()
    assert recorded(msgspec.to_builtins(Policy())).arbitration.engine == Engine()
