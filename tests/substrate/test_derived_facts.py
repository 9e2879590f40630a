"""Derived facts in sessions: they follow what is written, count like all others, and nobody writes them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from beliefd.kernel.adopted import Adopted
from beliefd.kernel.substrate.derived import Source
from beliefd.kernel.substrate.events import Arbitrated
from beliefd.kernel.substrate.explaining import explain_call
from beliefd.kernel.substrate.proposals import DeltaCandidate, Patch
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.tools import ProposalFindings
from beliefd.ledger.chain import policy_hash
from beliefd.ledger.envelope import read
from beliefd.ledger.replay import redecide
from beliefd.testing.kernel import KernelSession
from beliefd.testing.world import ENCODER, TOOL, policy
from tests.substrate.orders import CALM, LARGE, derived, order, ruled
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
from tests.substrate.test_second_language import verifies_elsewhere


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
