"""Facts are derived anew under another policy or mode, and keep its invariants or are not there."""

from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from beliefd.testing.world import refused
from tests.substrate.orders import derived, order, ruled
from tests.substrate.support import (
    ToolWorld,
    codes,
    delta,
    deny,
    one,
    tool_call,
    when,
)
from tests.substrate.test_asking import confirmed
from tests.substrate.test_second_language import verifies_elsewhere


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
