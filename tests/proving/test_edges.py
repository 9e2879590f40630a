"""Nothing is proved of what a call on the edge of a domain refutes: each case was one once, or nearly."""

from typing import Any

import msgspec
import pytest

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.kernel.substrate.question import Question
from beliefd.policy.proving.prover import Prover
from beliefd.policy.proving.witnesses import Judge
from beliefd.protocol.proofs import Proof
from tests.proving.test_prover import on, policy, verdict

NEVER = Guarantee(never="at_all")
PERMITS = Guarantee(update="permits_nothing_new")
ORDER = ["deny", "defer", "allow"]
MOST = 1.7976931348623157e308
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
ANYTHING: dict[str, Any] = {"definitions": {"any": {}}}


def p(op: str, *args: Any) -> dict[str, Any]:
    return {"op": op, "args": list(args)}


def denying(*conditions: dict[str, Any], **more: Any) -> Policy:
    """Allows a payment, but for what it denies."""
    denials = {f"b{at}": {**on("pay", "deny"), "when": one} for at, one in enumerate(conditions)}
    return policy({"a": on("pay", "allow"), **denials}, **more)


def but(condition: dict[str, Any], **more: Any) -> Policy:
    """Denies all payments but for those of which this holds."""
    return denying(p("not", condition), **more)


def says(under: Policy, call: dict[str, Any], state: dict[str, Any]) -> str:
    return Judge(under).explained(msgspec.convert({"tool_id": "pay", **call}, Question), state).verdict


def shown(under: Policy, call: dict[str, Any], state: dict[str, Any] | None = None) -> Proof:
    """The evaluator lets a call through, and the prover finds one."""
    assert says(under, call, state or {}) == "allow"
    proof = Prover(under).answer(NEVER)
    assert (proof.answer, proof.call and verdict(proof, under)) == ("counterexample", "allow"), proof
    return proof


def written(value: Any) -> dict[str, Any]:
    return {"fact.a": {"v": 1, "t": value}}


def tool(**schema: Any) -> dict[str, Any]:
    return {"tools": {"pay": {"schema": schema}}}


@pytest.mark.parametrize(
    ("op", "bound", "value"),
    [
        ("lt", "1000-01-01T00:00:00Z", "0500-01-01T00:00:00Z"),
        ("gt", "9999-01-01T00:00:00Z", "9999-06-01T00:00:00Z"),
    ],
)
def test_times_are_of_all_years_that_can_be_written(op: str, bound: str, value: str) -> None:
    shown(but(p(op, "fact.a.t", bound)), {}, written(value))
    shown(but(p(op, "call.now", bound)), {"now": value})


@pytest.mark.parametrize(
    ("op", "bound", "value"),
    [
        ("lt", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01"),
        ("gt", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-12:00"),
    ],
)
def test_of_the_first_and_last_times_of_all_nothing_is_said(op: str, bound: str, value: str) -> None:
    found = but(p(op, "fact.a.t", bound))
    assert says(found, {}, written(value)) == "allow"
    proof = Prover(found).answer(NEVER)
    assert (proof.answer, "the end of all times, at `fact.a.t`" in proof.why) == ("cannot_say", True)


def test_ages_reach_over_all_years() -> None:
    shown(
        but(p("age_over", "fact.a.t", 3e11)), {"now": "9999-06-01T00:00:00Z"}, written("0001-01-01T00:00:00Z")
    )


@pytest.mark.parametrize(
    "condition",
    [
        p("eq", "call.now", "2026-01-01T00:00:00Z"),
        p("in", "call.now", ["x", "2026-01-01T00:00:00Z"]),
        p("schema", "call.now", {"enum": ["2026-01-01T00:00:00Z"]}),
        p("schema", "call.now", {"const": "2026-01-01T00:00:00Z"}),
        p("ends_with", "call.now", "Z"),
    ],
)
def test_the_time_of_a_call_is_a_text_like_others(condition: dict[str, Any]) -> None:
    shown(but(condition), {"now": "2026-01-01T00:00:00Z"})


def test_what_is_no_time_is_not_the_time_of_a_call() -> None:
    assert Prover(but(p("eq", "call.now", "today"))).answer(NEVER).answer == "proved"


def test_calls_have_no_time_where_constraints_of_version_1_are_read() -> None:
    first = {"arbitration": {"constraints": 1}}
    raw = {"v": 1, "effect": "deny", "subject": None, "when": p("exists", "call.now")}
    allow = {"v": 1, "effect": "allow", "subject": None}
    old, new = (policy({"a": allow, "b": raw}, **more) for more in ({}, first))
    shown(new, {})
    assert Prover(old).answer(NEVER).answer == "proved"
    assert Prover(new, old).answer(PERMITS).answer == "counterexample"
    assert Prover(old, new).answer(PERMITS).answer == "proved"


def test_an_age_is_compared_as_the_evaluator_does_it() -> None:
    """0.3 is a little less than three tenths, and three tenths of a second are not more than 0.3 seconds."""
    then, now = "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.300000Z"
    exact = [p("eq", "fact.a.t", then), p("eq", "call.now", now)]
    shown(but(p("all", *exact, p("not", p("age_over", "fact.a.t", 0.3)))), {"now": now}, written(then))
    assert Prover(but(p("all", *exact, p("age_over", "fact.a.t", 0.3)))).answer(NEVER).answer == "proved"


@pytest.mark.parametrize("value", ["2026-01-01 00:00:00Z", "2026-01-01T23:59:60Z", "2026-01-01t00:00Z"])
def test_times_are_read_as_the_policy_reads_them(value: str) -> None:
    """By the first meaning, times in values are read only if they are written as policies write them."""
    first = {"arbitration": {"meaning": 1}}
    for condition in (p("gt", "fact.a.t", "1999-01-01T00:00:00Z"), p("age_over", "fact.a.t", 0)):
        later = p("gt", "call.now", "2029-01-01T00:00:00Z")
        unread = p("all", p("eq", "fact.a.t", value), p("not", condition), later)
        call = {"now": "2030-01-01T00:00:00Z"}
        shown(but(unread, **first), call, written(value))
        assert Prover(but(unread)).answer(NEVER).answer == "proved"
        new, old = denying(condition, **first), denying(condition)
        assert (says(new, call, written(value)), says(old, call, written(value))) == ("allow", "deny")
        assert Prover(new, old).answer(PERMITS).answer == "counterexample"


def test_keys_may_hold_empty_names() -> None:
    shown(denying(p("missing", "fact..x")), {}, {"fact..x": {"v": 1}})
    assert Prover(denying(p("missing", "fact."))).answer(NEVER).answer == "proved"


def test_a_fact_is_counted_with_its_version_once() -> None:
    one = p("all", p("count", "fact.a", "eq", 1), p("ge", "fact.a.v", 1))
    shown(but(one), {}, {"fact.a": {"v": 1}})
    two = p("all", p("count", "fact.a", "eq", 2), p("eq", "fact.a.v", 7), p("exists", "fact.a.t"))
    shown(but(two), {}, {"fact.a": {"v": 7, "t": 0}})
    few = p("all", p("count", "fact.a", "eq", 1), p("eq", "fact.a.t", 1))
    assert Prover(but(few)).answer(NEVER).answer == "proved"


@pytest.mark.parametrize(
    ("schema", "args", "answer"),
    [
        ({"required": ["n"]}, {}, "counterexample"),
        ({"required": ["n"], "properties": {"m": {}}}, {}, "counterexample"),
        ({"enum": [{"n": 2}]}, {"n": 1}, "cannot_say"),
        ({"properties": {"n": {"type": "integer"}}, "$schema": DRAFT_4}, {"n": 1.0}, "cannot_say"),
        ({"properties": {"n": {"const": 2}}}, {"n": 1}, "counterexample"),
    ],
)
def test_what_an_old_schema_kept_out_is_let_in_by_one_that_does_not(
    schema: dict[str, Any], args: dict[str, Any], answer: str
) -> None:
    old, new = (
        denying(p("eq", "call.args.n", 9), **tool(**schema)),
        denying(p("eq", "call.args.n", 9), **tool()),
    )
    assert (says(new, {"args": args}, {}), says(old, {"args": args}, {})) == ("allow", "deny")
    assert Prover(new, old).answer(PERMITS).answer == answer


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$schema": DRAFT_7, "$ref": "#/definitions/any", **ANYTHING, "type": "string"}, 1),
        ({"$schema": DRAFT_4, "const": 2}, 1),
        ({"$schema": DRAFT_4, "minimum": 1, "exclusiveMinimum": False}, 1),
        ({"$schema": DRAFT_4, "not": {"type": "integer"}}, 1.0),
    ],
)
def test_words_of_a_schema_say_what_its_draft_says(schema: dict[str, Any], value: Any) -> None:
    shown(but(p("schema", "fact.a.t", schema)), {}, written(value))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$schema": DRAFT_4, "type": "integer"}, 1.0),
        ({"$schema": DRAFT_4, "minimum": 1, "exclusiveMinimum": True}, 1),
        ({"$ref": "#/definitions/none", "definitions": {"none": False}}, 1),
        ({"$ref": "#/definitions/none", "definitions": {"none": False}, "minimum": 1}, 1),
    ],
)
def test_what_a_schema_of_another_draft_refuses_is_not_taken_to_fit(
    schema: dict[str, Any], value: Any
) -> None:
    found = denying(p("schema", "fact.a.t", schema), p("not", p("eq", "fact.a.t", 1)))
    assert says(found, {}, written(value)) == "allow"
    assert Prover(found).answer(NEVER).answer != "proved"


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        ({"$schema": DRAFT_7, "$ref": "#/definitions/any", **ANYTHING, "required": ["n"]}, {}),
        ({"$schema": DRAFT_4, "properties": {"n": {"const": 2}}}, {"n": 1}),
        ({"properties": {"n": {"$schema": DRAFT_4, "const": 2}}}, {"n": 1}),
        ({"properties": {"n": {"$schema": DRAFT_4, "$id": "x:y", "const": 2}}}, {"n": 1}),
    ],
)
def test_a_tool_takes_what_the_draft_of_its_schema_says(schema: dict[str, Any], args: dict[str, Any]) -> None:
    wanted = p("eq", "call.args.n", 1) if args else p("missing", "call.args.n")
    shown(but(wanted, **tool(**schema)), {"args": args})


def test_schemas_of_draft_7_are_understood() -> None:
    bounded = tool(**{"$schema": DRAFT_7, "properties": {"n": {"maximum": 50}}})
    assert Prover(but(p("gt", "call.args.n", 100), **bounded)).answer(NEVER).answer == "proved"


def test_values_that_a_schema_names_within_an_argument_may_be_there() -> None:
    inner = {"type": "object", "properties": {"k": {"enum": ["a", "b"]}}}
    closed = tool(properties={"o": inner}, additionalProperties=False)
    shown(
        denying(p("eq", "call.args.o.k", "a"), p("missing", "call.args.o.k"), **closed),
        {"args": {"o": {"k": "b"}}},
    )


@pytest.mark.parametrize("own", [{}, {"network": True}])
def test_whether_a_tool_reaches_the_network_may_change_with_the_policy(own: dict[str, Any]) -> None:
    old, new = (
        policy({"a": on("pay", "allow")}, tools={"pay": said})
        for said in ({"network": True} | own, {"network": False})
    )
    call = {"mode": "offline-safe"}
    assert (says(new, call, {}), says(old, call, {})) == ("allow", "deny")
    assert Prover(new, old).answer(PERMITS).answer == "counterexample"
    assert Prover(old, new).answer(PERMITS).answer == "proved"


def test_a_tool_is_believed_that_it_reaches_the_network_and_not_that_it_does_not() -> None:
    offline = Guarantee(mode="offline-safe", never="at_all")
    for said, answer in ((True, "proved"), (False, "counterexample")):
        found = policy({"a": on("pay", "allow")}, tools={"pay": {"network": said}})
        assert Prover(found).answer(offline).answer == answer
    assert says(found, {"mode": "offline-safe", "definition": {"network": True}}, {}) == "deny"
    unsaid = policy({"a": on("pay", "allow")}, tools={"pay": {}})
    assert Prover(unsaid).answer(offline).answer == "counterexample"


@pytest.mark.parametrize("bound", [1e308, MOST, -MOST])
@pytest.mark.parametrize("op", ["gt", "ge", "lt"])
def test_numbers_at_the_end_of_all_numbers_are_answered_about(op: str, bound: float) -> None:
    found = but(p(op, "call.args.n", bound))
    passing = [one for one in (-MOST, 0, bound, MOST) if says(found, {"args": {"n": one}}, {}) == "allow"]
    answer = Prover(found).answer(NEVER)
    assert answer.answer == ("counterexample" if passing else "cannot_say")
    assert passing or "no JSON" in answer.why


def test_numbers_that_no_json_holds_are_passed_over() -> None:
    shown(but(p("gt", "call.args.n", 2**53 - 1)), {"args": {"n": 1e21}})


def test_a_schema_that_goes_by_the_name_of_another_tool_may_change() -> None:
    constraints = {"a": on("pay", "allow"), "b": on("pay", "deny", "schema", "call.args.n", "other")}
    old, new = (
        policy(constraints, tools={"other": {"schema": one}, "pay": {}}) for one in ({}, {"type": "null"})
    )
    assert (says(new, {"args": {"n": 1}}, {}), says(old, {"args": {"n": 1}}, {})) == ("allow", "deny")
    assert Prover(new, old).answer(PERMITS).answer == "counterexample"


@pytest.mark.parametrize(
    "lost",
    [
        {"fs_write_args": ["path"]},
        {"net_args": ["url"]},
        {"shell_args": ["command"]},
        {"uses": {"tokens": 5}},
        {"executor": "caller"},
    ],
)
def test_what_a_tool_says_about_its_arguments_bounds_it_beside_constraints(lost: dict[str, Any]) -> None:
    with_it, without = (policy({"a": on("pay", "allow")}, tools={"pay": one}) for one in (lost, {}))
    found = Prover(without, with_it).answer(PERMITS)
    assert (found.answer, f"tools.pay.{next(iter(lost))}" in found.why) == ("cannot_say", True)
    if "executor" not in lost:
        assert Prover(with_it, without).answer(PERMITS).answer == "proved"


LONG = {"args": {"n": "y" * 5_000, "m": 2}}
LARGE = "^x|q{900}"


def test_a_text_that_is_too_long_for_its_pattern_denies_where_it_is_read_first() -> None:
    leaves = [p("matches", "call.args.n", LARGE), p("eq", "call.args.m", 1)]
    old, new = denying(p("all", *leaves)), denying(p("all", *reversed(leaves)))
    assert (says(new, LONG, {}), says(old, LONG, {})) == ("allow", "deny")
    found = Prover(new, old).answer(PERMITS)
    assert (found.answer, "too long" in found.why) == ("cannot_say", True)
    assert Prover(old, new).answer(PERMITS).answer == "proved"


def test_a_condition_that_reads_a_text_that_is_too_long_neither_holds_nor_does_not() -> None:
    leaf = p("matches", "call.args.n", LARGE)
    always = p("any", leaf, p("not", leaf))
    asks = {**on("pay", "ask"), "when": leaf}
    old, new = policy({"a": on("pay", "allow"), "b": {**on("pay", "ask"), "when": always}}), denying()
    waits = policy({"a": on("pay", "allow"), "b": asks, "c": {**asks, "when": p("not", leaf)}})
    assert (says(old, LONG, {}), says(waits, LONG, {})) == ("deny", "deny")
    assert Prover(new, denying(p("all", leaf, p("not", leaf)))).answer(PERMITS).answer == "cannot_say"
    assert Prover(waits, old).answer(PERMITS).answer == "proved"
    assert Prover(waits).answer(Guarantee(tool="pay", never="without_person")).answer == "proved"


def test_a_question_reads_the_policy_as_a_constraint_would() -> None:
    asked = Guarantee(never="at_all", when=p("eq", "policy.mode", "eco"))
    proof = Prover(denying()).answer(asked)
    assert (proof.answer, proof.call and proof.call.call["mode"]) == ("counterexample", "eco")
    unread = Guarantee(never="at_all", when=p("missing", "policy.version"))
    assert Prover(denying()).answer(unread).answer == "proved"


def test_questions_that_come_later_are_answered_with_what_they_read() -> None:
    prover = Prover(denying(p("eq", "call.args.n", "a")))
    other = Guarantee(never="at_all", when=p("eq", "call.args.n", "b"))
    assert prover.answer(NEVER).answer == "counterexample"
    assert prover.answer(other).answer == "counterexample"
