"""Answers about policies, by example: proofs, calls that show the opposite, and what cannot be said."""

import sys
import time
from typing import Any

import msgspec
import pytest

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.kernel.substrate.question import Question
from beliefd.policy.proving import process
from beliefd.policy.proving.prover import Prover
from beliefd.policy.proving.witnesses import Judge
from beliefd.protocol.proofs import Proof

PERSON = {"approvals": {"tools_without_person": ["pay"]}}


def policy(constraints: dict[str, Any], **more: Any) -> Policy:
    named = {f"constraint.{name}": {"v": 2, "subject": None, **raw} for name, raw in constraints.items()}
    return msgspec.convert({"constraints": named, **more}, Policy)


def on(tool: str, effect: str, op: str | None = None, *args: Any) -> dict[str, Any]:
    raw: dict[str, Any] = {"effect": effect, "subject": {"tool_id": tool}}
    return raw if op is None else {**raw, "when": {"op": op, "args": list(args)}}


def answer(asked: Guarantee, new: Policy, old: Policy | None = None) -> Proof:
    return Prover(new, old).answer(asked)


def verdict(proof: Proof, under: Policy) -> str:
    assert proof.call is not None
    return Judge(under).explained(msgspec.convert(proof.call.call, Question), proof.call.state).verdict


ALONE = Guarantee(role="agent", tool="pay", never="without_person")  # type: ignore[arg-type]
UPDATE = Guarantee(update="loosens_nothing")
AMOUNT = {
    "pay": {"schema": {"properties": {"amount": {"type": "integer", "maximum": 50}}, "required": ["amount"]}}
}


def test_a_hole_is_shown_as_a_call_that_passes() -> None:
    holed = policy({"a": on("pay", "allow"), "b": on("pay", "ask", "gt", "call.args.amount", 100)})
    proof = answer(ALONE, holed)
    assert (proof.answer, verdict(proof, holed)) == ("counterexample", "allow")


def test_what_asks_about_everything_is_proved() -> None:
    closed = policy(
        {
            "a": on("pay", "allow"),
            "b": on("pay", "ask", "gt", "call.args.amount", 100),
            "c": on("pay", "ask", "not", {"op": "gt", "args": ["call.args.amount", 100]}),
        }
    )
    assert answer(ALONE, closed).answer == "proved"


@pytest.mark.parametrize(
    ("tier", "more", "expected"),
    [("DELETE", {}, "proved"), ("DELETE", PERSON, "counterexample"), ("MODIFY", {}, "counterexample")],
)
def test_tiers_that_people_decide_about_are_known(tier: str, more: dict[str, Any], expected: str) -> None:
    found = policy({"a": on("pay", "allow")}, tools={"pay": {"tier": tier}}, **more)
    assert answer(ALONE, found).answer == expected


def test_nobody_calls_a_tool_above_their_own_tier() -> None:
    found = policy({"a": on("pay", "allow")}, tools={"pay": {"tier": "MODIFY"}})
    low, high = (
        Guarantee(tool="pay", agent_tier=tier, never="at_all") for tier in ("WRITE_LIMITED", "MODIFY")
    )
    assert (answer(low, found).answer, answer(high, found).answer) == ("proved", "counterexample")


def test_schemas_of_tools_bound_what_can_be_called() -> None:
    dead = {"a": on("pay", "allow"), "b": on("pay", "deny", "gt", "call.args.amount", 100)}
    never = Guarantee(constraint="constraint.b", never="fire")
    assert answer(never, policy(dead, tools=AMOUNT)).answer == "proved"
    assert answer(never, policy(dead)).answer == "counterexample"


def test_a_stricter_bound_is_proved_and_a_looser_one_is_not() -> None:
    hundred, fifty = (
        policy({"a": on("pay", "allow"), "b": on("pay", "deny", "gt", "call.args.amount", bound)})
        for bound in (100, 50)
    )
    assert answer(UPDATE, fifty, hundred).answer == "proved"
    looser = answer(UPDATE, hundred, fifty)
    assert looser.answer == "counterexample"
    assert (verdict(looser, hundred), verdict(looser, fifty)) == ("allow", "deny")
    assert looser.call is not None
    assert 50 < looser.call.call["args"]["amount"] <= 100


def test_what_only_asks_where_it_was_denied_is_looser_though_it_permits_nothing() -> None:
    denies, asks = (policy({"a": on("pay", "allow"), "b": on("pay", effect)}) for effect in ("deny", "ask"))
    assert answer(Guarantee(update="permits_nothing_new"), asks, denies).answer == "proved"
    assert answer(UPDATE, asks, denies).answer == "counterexample"


def test_what_nothing_allows_waits_only_where_not_all_failures_count() -> None:
    never = Guarantee(tool="pay", never="at_all")
    now, before = (
        policy({"b": on("pay", "ask")}, arbitration={"failures": rule}) for rule in ("all", "first")
    )
    assert answer(never, now).answer == "proved"
    assert (answer(never, before).answer, answer(UPDATE, now, before).answer) == ("counterexample", "proved")
    assert answer(UPDATE, before, now).answer == "counterexample"


def test_a_key_hides_the_field_of_a_shorter_one() -> None:
    """`fact.a.b` may be a key or a field of `fact.a`: neither is taken for granted."""
    found = policy(
        {
            "a": on("pay", "allow"),
            "b": on("pay", "deny", "exists", "fact.a"),
            "c": on("pay", "deny", "missing", "fact.a.b.c"),
        }
    )
    proof = answer(ALONE, found)
    assert (proof.answer, verdict(proof, found)) == ("counterexample", "allow")
    assert proof.call is not None
    assert "fact.a" not in proof.call.state


def test_values_that_no_state_has_together_are_no_counterexample() -> None:
    """A value that stands alone is a field of its key, so the key is there."""
    found = policy(
        {
            "a": on("pay", "allow"),
            "b": on("pay", "deny", "exists", "fact.a"),
            "c": on("pay", "deny", "not", {"op": "eq", "args": ["fact.a.b", 1]}),
        }
    )
    assert answer(ALONE, found).answer == "proved"


def test_a_key_that_only_its_field_brings_up_is_an_object_like_any_other() -> None:
    """No key holds a list, so the one condition says nothing of `fact.a`; that it is there the other says."""
    found = policy(
        {
            "a": on("pay", "allow"),
            "b": on("pay", "deny", "eq", "fact.a", [1]),
            "c": on("pay", "deny", "not", {"op": "eq", "args": ["fact.a.b", 1]}),
        }
    )
    proof = answer(ALONE, found)
    assert (proof.answer, verdict(proof, found)) == ("counterexample", "allow")


def both(*conditions: tuple[Any, ...]) -> dict[str, Any]:
    return {"op": "all", "args": [{"op": name, "args": list(args)} for name, *args in conditions]}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (both(("count", "fact.a", "lt", 1), ("exists", "fact.a")), "proved"),
        (both(("count", "fact.a", "eq", 1), ("exists", "fact.a.b")), "counterexample"),
        (both(("count", "fact.a", "eq", 1), ("eq", "fact.a.b", 1)), "proved"),
        (both(("count", "fact.a", "eq", 2), ("eq", "fact.a.b", 1), ("eq", "fact.a.c", 1)), "proved"),
        (both(("count", "fact.a", "eq", 3), ("eq", "fact.a.b", 1), ("eq", "fact.a.c", 1)), "counterexample"),
        (both(("count", "fact.a", "eq", 4), ("eq", "fact.a.b", 1), ("exists", "fact.a.c")), "counterexample"),
        (both(("eq", "fact.a", {"v": 1}), ("exists", "fact.a.b")), "counterexample"),
        (both(("eq", "fact.a", {"v": 1, "b": 2}), ("eq", "fact.a.b", 1)), "proved"),
        (both(("eq", "fact.a", {"v": 1, "b": 2}), ("exists", "fact.a.b")), "counterexample"),
        (
            both(("not", {"op": "eq", "args": ["fact.a", {"v": 1, "b": 2}]}), ("eq", "fact.a.b", 2)),
            "counterexample",
        ),
        (
            both(("not", {"op": "eq", "args": ["fact.a", {"v": 1}]}), ("count", "fact.a", "eq", 1)),
            "counterexample",
        ),
    ],
)
def test_fields_below_a_key_are_counted_with_its_version(wanted: dict[str, Any], expected: str) -> None:
    found = policy({"a": on("pay", "allow"), "b": on("pay", "deny", "not", wanted)})
    proof = answer(ALONE, found)
    assert (proof.answer, proof.why) == (expected, "")
    assert expected == "proved" or verdict(proof, found) == "allow"


@pytest.mark.parametrize("path", ["call.args.a.b", "call.args.a.b.c"])
@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_a_constraint_denies_what_can_be_read_in_two_ways_though_its_condition_never_holds(
    path: str, effect: str
) -> None:
    never = both(("eq", path, 1), ("eq", path, 2))["args"]
    guarded = policy({"a": on("pay", "allow"), "b": on("pay", effect, "all", *never)})
    bare = policy({"a": on("pay", "allow")})
    proof = answer(UPDATE, bare, guarded)
    assert proof.answer == "counterexample"
    assert (verdict(proof, bare), verdict(proof, guarded)) == ("allow", "deny")
    assert "AMBIGUOUS" in (proof.call.verdicts["old"] if proof.call else "")
    assert answer(UPDATE, guarded, bare).answer == "proved"
    assert answer(UPDATE, guarded, guarded).answer == "proved"
    for asked in (Guarantee(constraint="constraint.b", never="fire"), Guarantee(tool="pay", never="at_all")):
        assert answer(asked, guarded).answer == "counterexample"


def test_states_are_taken_to_be_read_in_one_way() -> None:
    """The kernel refuses changes that make a path ambiguous which is read."""
    never = both(("eq", "fact.a.b", 1), ("eq", "fact.a.b", 2))["args"]
    guarded = policy({"a": on("pay", "allow"), "b": on("pay", "deny", "all", *never)})
    assert answer(UPDATE, policy({"a": on("pay", "allow")}), guarded).answer == "proved"


def test_a_constraint_that_denies_for_two_reasons_is_one() -> None:
    never = both(("eq", "call.args.a.b", 1), ("eq", "call.args.a.b", 2))["args"]
    old = policy({"a": on("pay", "allow"), "b": on("pay", "deny", "all", *never)})
    new = policy({"a": on("pay", "allow"), "c": on("pay", "deny", "exists", "call.args.a.b")})
    assert answer(UPDATE, new, old).answer == "proved"


def test_what_can_be_read_in_two_ways_never_waits_for_a_person() -> None:
    """Nobody is asked about it: under the one it is denied, under the other it is let through or waits."""
    asks = policy({"a": on("pay", "allow"), "b": on("pay", "ask", "exists", "call.args.a.b")})
    always = policy({"a": on("pay", "allow"), "b": on("pay", "ask")})
    proof = answer(UPDATE, always, asks)
    assert proof.answer == "counterexample"
    assert (verdict(proof, always), verdict(proof, asks)) == ("defer", "deny")
    assert answer(Guarantee(update="permits_nothing_new"), always, asks).answer == "proved"


def test_patterns_are_not_worked_out_but_tried() -> None:
    found = policy(
        {
            "a": on("pay", "allow"),
            "b": on("pay", "deny", "not", {"op": "matches", "args": ["call.args.to", "^x[0-9]+$"]}),
        }
    )
    proof = answer(ALONE, found)
    assert (proof.answer, verdict(proof, found)) == ("counterexample", "allow")


def test_what_depends_on_a_pattern_that_is_not_understood_cannot_be_said() -> None:
    impossible = {
        "op": "all",
        "args": [
            {"op": "matches", "args": ["call.args.to", "^a$"]},
            {"op": "matches", "args": ["call.args.to", "^b$"]},
        ],
    }
    found = policy({"a": on("pay", "allow"), "b": on("pay", "deny", "not", impossible)})
    proof = answer(ALONE, found)
    assert proof.answer == "cannot_say"
    assert "matches" in proof.why


def test_a_proof_holds_whatever_a_pattern_means() -> None:
    either = [
        {"op": "matches", "args": ["call.args.to", "^a$"]},
        {"op": "not", "args": [{"op": "matches", "args": ["call.args.to", "^a$"]}]},
    ]
    found = policy({"a": on("pay", "allow"), "b": on("pay", "ask", "any", *either)})
    assert answer(ALONE, found).answer == "proved"


def test_ages_depend_on_the_time_of_the_decision() -> None:
    found = policy(
        {
            "a": on("pay", "allow"),
            "b": on("pay", "deny", "not", {"op": "age_over", "args": ["fact.seen.at", 60]}),
        }
    )
    proof = answer(ALONE, found)
    assert (proof.answer, verdict(proof, found)) == ("counterexample", "allow")


def test_two_constraints_conflict_if_one_lets_through_what_the_other_stops() -> None:
    found = policy(
        {
            "a": on("pay", "allow", "eq", "call.args.to", "ana"),
            "b": on("pay", "deny", "eq", "call.args.to", "ana"),
            "c": on("pay", "deny", "eq", "call.args.to", "eve"),
        }
    )
    assert (
        answer(Guarantee(never_conflict=("constraint.a", "constraint.b")), found).answer == "counterexample"
    )
    assert answer(Guarantee(never_conflict=("constraint.a", "constraint.c")), found).answer == "proved"


def test_what_another_always_denies_matters_to_no_verdict() -> None:
    found = policy(
        {
            "a": on("pay", "allow"),
            "b": on("pay", "deny", "gt", "call.args.amount", 10),
            "c": on("pay", "deny", "gt", "call.args.amount", 20),
        }
    )
    assert answer(Guarantee(constraint="constraint.c", can="matter"), found).answer == "refuted"
    assert answer(Guarantee(constraint="constraint.c", can="fire"), found).answer == "proved"
    assert answer(Guarantee(constraint="constraint.b", can="matter"), found).answer == "proved"


def test_capabilities_that_are_issued_anew_are_outside_of_what_is_proved() -> None:
    old = policy({"a": on("pay", "allow")})
    rule = {"name": "all", "roles": ["agent"], "scope": {"tools": ["*"]}}
    new = policy({"a": on("pay", "allow")}, capabilities=[rule])
    proof = answer(UPDATE, new, old)
    assert (proof.answer, "capabilities" in proof.why) == ("cannot_say", True)
    assert answer(UPDATE, old, new).answer == "proved"


def test_a_solver_that_hangs_is_ended_and_says_how_far_it_came() -> None:
    hanging = 'import time; print(\'{"at": "call 7"}\', flush=True); time.sleep(600)'
    started = time.monotonic()
    proofs = process.prove(policy({}), [ALONE, UPDATE], seconds=1, command=(sys.executable, "-c", hanging))
    assert time.monotonic() - started < 60
    assert [one.answer for one in proofs] == ["cannot_say"] * 2
    assert "time was over" in proofs[0].why
    assert "call 7" in proofs[0].why


def test_a_process_that_dies_answers_nothing() -> None:
    proofs = process.prove(policy({}), [ALONE], command=(sys.executable, "-c", "raise SystemExit(1)"))
    assert (proofs[0].answer, "ended early" in proofs[0].why) == ("cannot_say", True)


def test_the_process_answers_what_the_prover_does() -> None:
    closed = policy({"a": on("pay", "allow"), "b": on("pay", "ask")})
    found = process.prove(closed, [ALONE, Guarantee(constraint="constraint.gone", can="fire")])
    assert [one.answer for one in found] == ["proved", "refuted"]


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"never": "at_all", "can": "pass"},
        {"never": "fire"},
        {"constraint": "constraint.a", "never": "at_all"},
        {"update": "loosens_nothing", "role": "agent"},
    ],
)
def test_a_promise_says_one_thing(said: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(said, Guarantee)


DIES_ONCE = """
import os
from beliefd.policy.proving import __main__ as main, prover
answered = prover.Prover.answer
def dying(self, asked, others=()):
    if asked.tool == "pay":
        os.kill(os.getpid(), 9)
    return answered(self, asked, others)
prover.Prover.answer = dying
main.main()
"""


def test_each_question_has_a_solver_to_itself_and_takes_no_other_along() -> None:
    """What a solver learns from one question can make it slow at the next, and memory is not given back."""
    questions = [ALONE, Guarantee(role="agent", tool="read", never="without_person")]  # type: ignore[arg-type]
    found = process.prove(
        policy({"a": on("read", "ask")}), questions, command=(sys.executable, "-c", DIES_ONCE)
    )
    assert [one.answer for one in found] == ["cannot_say", "proved"]
    assert found[0].why == process.ENDED


def test_what_a_policy_calls_itself_is_what_conditions_read() -> None:
    barred = {"a": on("pay", "allow"), "b": on("pay", "deny", "eq", "policy.version", "spring")}
    passes = Guarantee(tool="pay", can="pass")
    for version, found in (("spring", "refuted"), ("autumn", "proved")):
        assert answer(passes, policy(barred, version=version)).answer == found
    assert answer(passes, policy(barred)).answer == "proved"
