"""Derived facts in sessions: they follow what is written, count like all others, and nobody writes them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace
from rpds import HashTrieMap

from beliefd.kernel.adopted import Adopted
from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from beliefd.kernel.substrate.derived import Source
from beliefd.kernel.substrate.deriving import RuleSet
from beliefd.kernel.substrate.events import Arbitrated
from beliefd.kernel.substrate.explaining import explain_call
from beliefd.kernel.substrate.proposals import DeltaCandidate, Patch
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.rule_reading import MAX_BYTES, TooLarge
from beliefd.kernel.substrate.tools import ProposalFindings
from beliefd.ledger.chain import policy_hash
from beliefd.ledger.envelope import read
from beliefd.ledger.replay import redecide
from beliefd.testing.kernel import KernelSession
from beliefd.testing.world import ENCODER, TOOL, policy, refused
from tests.substrate.support import (
    ALLOW_ALL,
    ToolWorld,
    allow,
    codes,
    delta,
    deny,
    one,
    proposal,
    remove,
    tool_call,
    when,
)
from tests.substrate.test_asking import confirmed
from tests.substrate.test_second_language import verifies_elsewhere

LARGE = {
    "v": 1,
    "when": when("eq", "fact.order.size", "large"),
    "derive": {"fact.large": {"v": 1, "order": {"from": "fact.order.id"}}},
}
CALM = {"v": 1, "when": when("missing", "fact.large"), "derive": {"fact.calm": {"v": 1}}}
CONSTRAINTS: dict[str, Any] = {
    "constraint.all": ALLOW_ALL,
    "constraint.send": deny("email.send", when=when("exists", "fact.large"), reason="a large order waits"),
}
RULES = {"rule.large": LARGE, "rule.calm": CALM}


def ruled(rules: dict[str, Any] | None = None, **constraints: Any) -> Policy:
    """A policy of rules; `constraint.` is put before every name."""
    named = {f"constraint.{name}": value for name, value in constraints.items()}
    return policy(constraints={**CONSTRAINTS, **named}, rules=RULES if rules is None else rules)


def order(size: str = "large", **more: Any) -> dict[str, Any]:
    return delta(fact__order={"v": 1, "id": 7, "size": size, **more})


def derived(house: ToolWorld, session: str) -> dict[str, Any]:
    held = house.state(session).substrate
    return {key: held.symbolic_state[key] for key in held.derived}


def test_facts_are_derived_when_something_is_written_and_fall_with_it() -> None:
    with ToolWorld(policy=ruled()) as house:
        session = house.session()
        one(house.encoder.propose(session, [order()]))
        assert derived(house, session) == {"fact.large": {"v": 1, "order": 7}}
        shown = house.agent.show_state(session)
        assert shown.derived == {"fact.large": Source("rule.large", ("fact.order",))}
        assert shown.f_sparse["fact.large"] == {"v": 1, "order": 7}
        assert shown.f_sparse["rule.large"] == LARGE
        one(house.encoder.propose(session, [remove("fact.order")]))
        assert derived(house, session) == {"fact.calm": {"v": 1}}
        house.check(session)
        told = [event for event in house.deltas(session) if isinstance(event, Arbitrated)]
        first, second = (event.results[0].derived for event in told)
        assert first is not UNSET
        assert (dict(first.values), first.fell) == ({"fact.large": {"v": 1, "order": 7}}, ("fact.calm",))
        assert second is not UNSET
        assert (dict(second.values), second.fell) == ({"fact.calm": {"v": 1}}, ("fact.large",))


def test_constraints_read_what_is_derived() -> None:
    with ToolWorld(policy=ruled()) as house:
        session = house.session()
        token = house.token(session)
        assert one(house.agent.propose(session, [tool_call("email.send", token, "1", to="a")])).status == "ok"
        house.encoder.propose(session, [order()])
        no = one(house.agent.propose(session, [tool_call("email.send", token, "2", to="a")]))
        assert (no.verdict, no.reason_code, no.reasons[0].constraint) == ("deny", "DENIED", "constraint.send")
        house.check(session)


def test_what_one_candidate_derives_the_next_one_sees() -> None:
    with ToolWorld(policy=ruled(read=deny("note.read", when=when("exists", "fact.large")))) as house:
        session = house.session()
        look = tool_call("note.read", house.token(session, agent=ENCODER))
        answer = house.encoder.propose(session, [look, order(), look, order("small"), look])
        verdicts = [result.verdict for result in answer.results]
        assert verdicts == ["allow", "allow", "deny", "allow", "allow"]
        house.check(session)


def test_invariants_read_what_would_be_derived() -> None:
    never = {"v": 1, "effect": "deny", "when": when("exists", "fact.large"), "reason": "no large orders"}
    with ToolWorld(policy=ruled(**{"invariant.never": never})) as house:
        session = house.session()
        assert one(house.encoder.propose(session, [order("small")])).verdict == "allow"
        no = one(house.encoder.propose(session, [order()]))
        assert (no.verdict, no.reason_code) == ("deny", "INVARIANT_BROKEN")
        assert derived(house, session) == {"fact.calm": {"v": 1}}
        house.check(session)


@pytest.mark.parametrize("who", ["agent", "encoder", "tool", "root"])
@pytest.mark.parametrize(
    "patch",
    [
        {"set": {"fact.large": {"v": 1}}},
        {"set": {"fact.large.order": {"v": 1}}},
        {"remove": ["fact.calm"]},
        {"set": {"fact.b": {"v": 1}, "fact.calm": {"v": 2}}},
    ],
)
def test_nobody_writes_what_rules_derive(who: str, patch: dict[str, Any]) -> None:
    with ToolWorld(policy=ruled()) as house:
        session = house.session()
        speaker = house.person(TOOL) if who == "tool" else getattr(house, who)
        no = one(speaker.propose(session, [{"kind": "delta", "patch": patch}]))
        assert (no.verdict, no.reason_code) == ("deny", "DERIVED")
        assert derived(house, session) == {"fact.calm": {"v": 1}}
        house.check(session)


def test_rules_are_written_by_the_policy_only() -> None:
    with ToolWorld(policy=ruled()) as house:
        session = house.session()
        for speaker in (house.agent, house.encoder, house.root):
            no = one(speaker.propose(session, [delta(rule__large={"v": 1})]))
            assert codes(no)[0] == "KERNEL_OWNED"


def test_a_field_by_hand_does_not_speak_for_a_derived_fact() -> None:
    """`fact.order.large` would be read out of `fact.order`, where the rule derives nothing."""
    inside = {"rule.large": {**LARGE, "derive": {"fact.order.large": {"v": 1}}}}
    with ToolWorld(policy=ruled(inside)) as house:
        session = house.session()
        assert one(house.encoder.propose(session, [order("small", large={"v": 1})])).reason_code == "DERIVED"
        assert one(house.encoder.propose(session, [order()])).verdict == "allow"
        assert derived(house, session) == {"fact.order.large": {"v": 1}}


def test_a_person_who_says_yes_writes_no_derived_fact_either() -> None:
    """Asked about under a policy without the rule; it is in force when the yes comes."""
    asking = deny("x", subject={"capability": "write:fact"}, on_fail="ask", reason="look at it")
    with ToolWorld(policy=ruled({}, ask=asking)) as house:
        session = house.session()
        waits = one(house.encoder.propose(session, [delta(fact__large=1)]))
        assert waits.approval_id is not None
        house.steward.in_force.adopt(ruled(ask=asking))
        card = house.ann.show_approval(waits.approval_id)
        assert "derived by `rule.large`" in (card.cannot_run or "")


def test_a_yes_to_a_change_derives_what_follows_from_it() -> None:
    asking = deny("x", subject={"capability": "write:fact"}, on_fail="ask", reason="look at it")
    with ToolWorld(policy=ruled(ask=asking)) as house:
        session = house.session()
        waits = one(house.encoder.propose(session, [order()]))
        assert derived(house, session) == {"fact.calm": {"v": 1}}
        house.ann.approve(house.ann.show_approval(waits.approval_id or ""))
        assert derived(house, session) == {"fact.large": {"v": 1, "order": 7}}
        house.check(session)


def test_another_policy_derives_anew_with_the_next_decision() -> None:
    with ToolWorld(policy=ruled({})) as house:
        session = house.session()
        house.encoder.propose(session, [order(), delta(fact__calm=1)])
        assert derived(house, session) == {}
        token = house.token(session)
        house.steward.in_force.adopt(ruled())
        no = one(house.agent.propose(session, [tool_call("email.send", token, "1", to="a")]))
        assert no.reason_code == "DENIED"
        assert derived(house, session) == {"fact.large": {"v": 1, "order": 7}}
        assert "fact.calm" not in house.state(session).substrate.symbolic_state, "by hand, and not derived"
        event = house.deltas(session)[-1]
        assert (event.derived.set.keys(), event.derived.fell) == ({"fact.large"}, ("fact.calm",))
        assert house.agent.show_state(session).state_snapshot_id == event.event_id
        house.steward.in_force.adopt(ruled({}))
        yes = one(house.agent.propose(session, [tool_call("email.send", token, "2", to="a")]))
        assert yes.verdict == "allow"
        assert derived(house, session) == {}
        house.check(session)


def test_a_call_that_waits_begins_under_the_rules_of_then() -> None:
    """It was let through without rules; a yes is carried out under rules that derive what denies it."""
    asking = deny("email.send", on_fail="ask", reason="look at it")
    with ToolWorld(policy=ruled({}, ask=asking)) as house:
        session = house.session()
        house.encoder.propose(session, [order()])
        waits = one(
            house.agent.propose(session, [tool_call("email.send", house.token(session), "1", to="a")])
        )
        assert waits.approval_id is not None
        house.steward.in_force.adopt(ruled(ask=asking))
        assert "a large order waits" in (house.ann.show_approval(waits.approval_id).cannot_run or "")


def test_rules_that_come_into_force_while_one_call_runs_stop_the_next() -> None:
    with ToolWorld(policy=ruled({}, quick=deny("quick", when=when("exists", "fact.large")))) as house:
        session = house.session()
        house.encoder.propose(session, [order()])
        token = house.token(session)
        later = ruled(quick=deny("quick", when=when("exists", "fact.large")))
        house.toolbox.add("slow", lambda: house.steward.in_force.adopt(later))
        house.toolbox.add("quick", lambda: "ran")
        answer = house.agent.propose(session, [tool_call("slow", token), tool_call("quick", token)])
        assert [result.status for result in answer.results] == ["ok", "stopped"]
        assert codes(answer.results[1]) == ["DENIED"]
        house.check(session)


NEVER = {"v": 1, "effect": "deny", "when": when("exists", "fact.large"), "reason": "no large orders"}
IN_ECO = {"v": 1, "when": when("not", when("eq", "policy.mode", "normal")), "derive": {"fact.slow": {"v": 1}}}
NEVER_SLOW = {"v": 1, "effect": "deny", "when": when("exists", "fact.slow")}


def test_facts_that_another_policy_derives_keep_its_invariants_or_are_not_there(tmp_path: Path) -> None:
    with ToolWorld(policy=ruled({})) as house:
        session = house.session()
        assert one(house.encoder.propose(session, [order()])).verdict == "allow"
        token, before = house.token(session), house.state(session).substrate
        house.steward.in_force.adopt(ruled(**{"invariant.never": NEVER}))
        no = one(house.agent.propose(session, [tool_call("note.read", token)]))
        assert (no.verdict, no.reason_code, no.reasons[0].constraint) == (
            *("deny", "INVARIANT_BROKEN"),
            "constraint.invariant.never",
        )
        still = one(house.encoder.propose(session, [order("large", again=1)]))
        assert still.reason_code == "INVARIANT_BROKEN"
        after = house.state(session).substrate
        assert dict(after.symbolic_state) == dict(before.symbolic_state), "nothing is committed"
        answer = house.encoder.propose(session, [tool_call("note.read", token), order("small")])
        assert [one.verdict for one in answer.results] == ["deny", "allow"]
        assert derived(house, session) == {"fact.calm": {"v": 1}}
        assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"
        house.check(session)
        exported = tmp_path / "ledger.jsonl"
        exported.write_bytes(house.export(session))
    verifies_elsewhere(exported)


def test_a_call_does_not_begin_on_facts_that_break_an_invariant() -> None:
    with ToolWorld(policy=ruled({})) as house:
        session = house.session()
        house.encoder.propose(session, [order()])
        token = house.token(session)
        house.toolbox.add("slow", lambda: house.steward.in_force.adopt(ruled(**{"invariant.never": NEVER})))
        house.toolbox.add("quick", lambda: "ran")
        answer = house.agent.propose(session, [tool_call("slow", token), tool_call("quick", token)])
        assert [result.status for result in answer.results] == ["ok", "stopped"]
        assert codes(answer.results[1]) == ["INVARIANT_BROKEN"]
        house.check(session)


def test_facts_that_another_mode_derives_keep_invariants_or_are_not_there() -> None:
    rules = {"rule.slow": IN_ECO}
    with ToolWorld(policy=ruled(rules, **{"invariant.slow": NEVER_SLOW})) as house:
        session = house.session()
        token = house.token(session)
        assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"
        house.root.set_mode(session, "eco", reason="a test")
        no = one(house.agent.propose(session, [tool_call("note.read", token)]))
        assert (no.reason_code, derived(house, session)) == ("INVARIANT_BROKEN", {})
        house.root.set_mode(session, "normal", reason="over")
        assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"
        house.check(session)


def test_a_person_confirms_no_call_on_facts_that_break_an_invariant() -> None:
    asks = deny("note.read", on_fail="ask")
    with ToolWorld(policy=ruled({}, look=asks)) as house:
        session = house.session()
        house.encoder.propose(session, [order()])
        waits = one(house.agent.propose(session, [tool_call("note.read", house.token(session))]))
        card = house.ann.show_approval(waits.approval_id or "")
        house.steward.in_force.adopt(ruled(look=asks, **{"invariant.never": NEVER}))
        error = refused(Code.CONFLICT, lambda: house.ann.approve(card))
        assert "no large orders" in error.message
        assert "fact.large" not in house.state(session).substrate.symbolic_state
        house.encoder.propose(session, [order("small")])
        assert confirmed(house.ann.approve(card)).verdict == "allow"
        house.check(session)


def test_under_the_meaning_of_before_facts_derived_anew_are_committed_as_they_were() -> None:
    with ToolWorld(policy=ruled({})) as house:
        session = house.session()
        house.encoder.propose(session, [order()])
        token = house.token(session)
        before = replace(ruled(**{"invariant.never": NEVER}), arbitration=ArbitrationPolicy(meaning=2))
        house.steward.in_force.adopt(before)
        assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"
        assert derived(house, session) == {"fact.large": {"v": 1, "order": 7}}
        assert [one.provenance for one in house.state(session).substrate.calls.values()] == [UNSET]
        house.check(session)


def test_what_is_read_of_the_policy() -> None:
    constraints = {
        "mode": deny("email.send", when=when("not", when("eq", "policy.mode", "normal"))),
        "mine": deny("note.read", when=when("not", when("eq", "policy.adopted_by", "human://root"))),
        "invariant.version": {
            "v": 1,
            "effect": "deny",
            "when": when("all", when("exists", "fact.order"), when("not", when("eq", "policy.version", 1))),
        },
        "down": deny("calc.add", on_fail="degrade"),
    }
    with ToolWorld(policy=ruled({}, **constraints)) as house:
        session = house.session()
        token = house.token(session)
        assert one(house.agent.propose(session, [tool_call("note.read", token)])).reason_code == "DENIED"
        house.root.adopt_policy(ruled({}, **constraints))
        assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"
        assert one(house.encoder.propose(session, [order()])).verdict == "allow", "the invariant is kept"
        shown = house.agent.show_state(session).f_sparse
        assert shown["policy.adopted_by"] == "human://root"
        assert shown["policy.hash"] == house.steward.in_force.hash
        assert (shown["policy.version"], shown["policy.mode"]) == (1, "normal")
        assert one(house.agent.propose(session, [tool_call("email.send", token, "1", to="a")])).status == "ok"
        house.agent.propose(session, [tool_call("calc.add", token, a=1, b=2)])
        assert house.agent.show_state(session).f_sparse["policy.mode"] == "eco"
        no = one(house.agent.propose(session, [tool_call("email.send", token, "2", to="a")]))
        assert no.reasons[0].constraint == "constraint.mode"
        assert '(now "eco")' in no.reasons[0].remedy
        house.check(session)
        facts = [read(entry.record).facts for entry in house.entries(session)]
        adopted = [found.in_force for found in facts if isinstance(found, ProposalFindings)]
        assert adopted[0] == Adopted()
        assert adopted[-1].by == "human://root"  # type: ignore[union-attr]


@pytest.mark.parametrize("key", ["policy.mode", "policy.hash", "policy", "policy.x"])
def test_nobody_writes_what_is_read_of_the_policy(key: str) -> None:
    with ToolWorld(policy=ruled()) as house:
        session = house.session()
        for speaker in (house.agent, house.encoder, house.root, house.person(TOOL)):
            no = one(speaker.propose(session, [{"kind": "delta", "patch": {"set": {key: {"v": 1}}}}]))
            assert no.verdict == "deny"


def test_rules_read_the_policy_and_follow_it() -> None:
    rules = {
        "rule.slow": {
            "v": 1,
            "when": when("not", when("eq", "policy.mode", "normal")),
            "derive": {"fact.slow": {"v": 1, "mode": {"from": "policy.mode"}}},
        }
    }
    with ToolWorld(policy=ruled(rules, down=deny("calc.add", on_fail="degrade"))) as house:
        session = house.session()
        token = house.token(session)
        house.agent.propose(session, [tool_call("calc.add", token, a=1, b=2)])
        assert derived(house, session) == {}
        house.agent.propose(session, [tool_call("note.read", token)])
        assert derived(house, session) == {"fact.slow": {"v": 1, "mode": "eco"}}
        assert house.state(session).substrate.derived["fact.slow"].inputs == ("policy.mode",)
        house.clock.advance(301)
        house.agent.propose(session, [tool_call("note.read", token)])
        assert derived(house, session) == {}
        house.check(session)


def test_a_session_that_is_filled_up_is_refused_and_not_worn_out() -> None:
    rules = {
        f"rule.{n}": {"v": 1, "derive": {f"fact.copy{n}": {"v": 1, "all": {"from": "fact.big"}}}}
        for n in range(100)
    }
    with ToolWorld(policy=ruled(rules)) as house:
        session = house.session()
        no = one(house.encoder.propose(session, [delta(fact__big="x" * (MAX_BYTES // 50))]))
        assert (no.verdict, no.reason_code) == ("deny", "DERIVED_TOO_LARGE")
        assert "`rule." in no.reasons[0].text
        assert derived(house, session) == {}
        assert one(house.encoder.propose(session, [delta(fact__big="x")])).verdict == "allow"
        assert len(derived(house, session)) == 100
        many = {"kind": "delta", "patch": {"set": {f"fact.call.x{n}": {"v": 1} for n in range(1000)}}}
        assert one(house.encoder.propose(session, [many])).verdict == "allow"
        house.check(session)


def test_too_much_for_new_rules_denies_until_there_is_less() -> None:
    rules = {"rule.copy": {"v": 1, "derive": {"fact.copy": {"v": 1, "all": {"from": "fact.big"}}}}}
    with ToolWorld(policy=ruled({})) as house:
        session = house.session()
        house.encoder.propose(session, [delta(fact__big="x" * MAX_BYTES)])
        house.steward.in_force.adopt(ruled(rules))
        assert one(house.agent.propose(session, [delta(goal__a=1)])).reason_code == "DERIVED_TOO_LARGE"
        house.steward.in_force.adopt(ruled({}))
        assert one(house.encoder.propose(session, [remove("fact.big")])).verdict == "allow"
        house.steward.in_force.adopt(ruled(rules))
        assert one(house.agent.propose(session, [delta(goal__a=1)])).verdict == "allow"
        house.check(session)


def test_rules_that_cannot_be_applied_let_nothing_through() -> None:
    """No policy like that comes into force; a ledger may name one all the same."""
    loop = {"rule.a": {"v": 1, "when": when("missing", "fact.a"), "derive": {"fact.a": {"v": 1}}}}
    with ToolWorld(policy=ruled()) as house:
        session = house.session()
        token = house.token(session)
        house.steward.in_force.adopt(ruled(loop))
        answer = house.agent.propose(session, [delta(goal__a=1), tool_call("note.read", token)])
        assert [result.reason_code for result in answer.results] == ["MALFORMED_RULE"] * 2
        house.check(session)


def test_who_relied_on_a_derived_fact_that_has_changed_is_told_so() -> None:
    with ToolWorld(policy=ruled()) as house:
        session = house.session()
        token = house.token(session)
        before = house.encoder.propose(session, [order("small")]).state_snapshot_id
        house.encoder.propose(session, [order()])
        send = tool_call("email.send", token, "1", to="a")
        late = one(house.agent.propose(session, [send], state_snapshot_id=before))
        assert (late.reason_code, late.reasons[0].keys) == ("CONFLICT", ("fact.large",))


def test_a_ledger_from_elsewhere_is_derived_anew() -> None:
    with ToolWorld(policy=ruled()) as there, ToolWorld(policy=ruled()) as here:
        session = there.session()
        there.encoder.propose(session, [order()])
        here.import_ledger(there.export(session))
        assert one(here.agent.propose(session, [delta(goal__a=1)])).verdict == "allow"
        assert derived(here, session) == {"fact.large": {"v": 1, "order": 7}}
        event = here.deltas(session)[-1]
        assert event.derived.under == here.steward.in_force.hash
        here.check(session)


def test_a_policy_without_rules_leaves_no_trace() -> None:
    """What was recorded before there were rules has the same bytes: no member of it is new."""
    told = KernelSession(policy=policy(constraints={"constraint.all": ALLOW_ALL}))
    told.tell(proposal(DeltaCandidate(patch=Patch(set={"fact.a": {"v": 1}}))), ENCODER)
    assert b"derived" not in told.export
    assert b"in_force" not in told.export
    assert "rules" not in msgspec.to_builtins(told.policy)


def test_deciding_again_and_folding_give_the_same() -> None:
    told = KernelSession(policy=ruled())
    for patch in ({"fact.order": {"v": 1, "size": "large", "id": 1}}, {"fact.order": {"v": 1}}):
        told.tell(proposal(DeltaCandidate(patch=Patch(set=patch))), ENCODER)
    other = ruled({"rule.calm": CALM})
    told.ask(proposal(DeltaCandidate(patch=Patch(set={"fact.b": {"v": 1}}))), ENCODER, policy=other)
    again = list(redecide(told.recorded, told.policies))
    assert [step.event for step in again] == told.events
    assert again[-1].session.substrate == told.session.substrate


def test_explanations_read_what_is_derived() -> None:
    given = ruled()
    state = {"fact.order": {"v": 1, "size": "large", "id": 1}, "fact.calm": {"v": 1}}
    found = explain_call(given, policy_hash(given), state, Question(tool_id="email.send"))
    assert (found.verdict, found.reasons[0].constraint) == ("deny", "constraint.send")


@pytest.mark.slow
def test_node_recomputes_what_was_derived(tmp_path: Path) -> None:
    with ToolWorld(policy=ruled(down=allow("x"))) as house:
        session = house.session()
        number = 0
        while len(house.ledger(session)) < 256:
            number += 1
            size = "large" if number % 3 else "small"
            house.encoder.propose(session, [order(size), delta(fact__b=number)])
            if number == 100:
                house.steward.in_force.adopt(ruled({"rule.calm": CALM}))
        house.check(session)
        exported = tmp_path / "ledger.jsonl"
        exported.write_bytes(house.export(session))
    assert '"state_hash"' in exported.read_text()
    assert '"derived"' in exported.read_text()
    verifies_elsewhere(exported)


NOTE = {"v": 1, "derive": {"fact.note": {"v": 1, "x": {"from": "goal.note.t"}}}}
BOTH = {
    "v": 1,
    "when": when("eq", "fact.order.size", "large"),
    "derive": {"fact.both": {"v": 1, "x": {"from": "goal.note.t"}, "id": {"from": "fact.order.id"}}},
}


@pytest.mark.parametrize(
    "note", [NOTE, BOTH], ids=["a copy that is always made", "one that waits for a fact"]
)
@pytest.mark.parametrize("shape", ["long", "deep"])
def test_nobody_keeps_out_what_another_writes_by_filling_up_what_is_derived(
    note: dict[str, Any], shape: str
) -> None:
    def filling(much: int) -> dict[str, Any]:
        value: Any = "x" * much if shape == "long" else 1
        for _ in range(0 if shape == "long" else much):
            value = [value]
        return delta(goal__note={"v": 1, "t": value})

    with ToolWorld(policy=ruled({"rule.note": note, "rule.large": LARGE})) as house:
        session = house.session()
        refused_at = MAX_BYTES if shape == "long" else 40
        while (said := one(house.agent.propose(session, [filling(refused_at)]))).verdict != "allow":
            assert said.reason_code == "DERIVED_TOO_LARGE"
            assert said.reasons[0].keys == ("goal.note.t",)
            refused_at -= MAX_BYTES // 9 if shape == "long" else 1
        assert refused_at > 20
        assert one(house.encoder.propose(session, [order(id="7" * 100)])).verdict == "allow"
        assert "fact.large" in derived(house, session)
        house.check(session)


def test_what_is_too_large_names_the_largest_of_all_that_is_derived() -> None:
    found = RuleSet(
        {
            "rule.a": {"v": 1, "derive": {"fact.a": {"v": 1, "n": {"from": "goal.a"}}}},
            "rule.b": {"v": 1, "derive": {"fact.b": {"v": 1, "n": {"from": "goal.b"}}}},
        },
        lambda _, __: False,
    )
    large = {"v": 1, "n": {"v": 1, "t": "x" * (MAX_BYTES - 500)}}
    values = HashTrieMap({"fact.a": large, "goal.a": large["n"], "goal.b": {"v": 1, "t": "x" * 1_000}})
    held = HashTrieMap({"fact.a": Source("rule.a", ("goal.a",))})
    with pytest.raises(TooLarge) as caught:
        found.settle(values, held, MAX_BYTES - 400, ["goal.b"])
    assert (caught.value.rule, caught.value.key) == ("rule.a", "fact.a")
