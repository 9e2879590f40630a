"""Of all that stands in the way the strictest counts: that nothing allows it, and broken invariants, too."""

from pathlib import Path
from typing import Any, Final

import pytest

from beliefd.kernel import policy as policies
from beliefd.kernel.substrate.constraints import MILDER
from beliefd.testing.world import policy
from tests.conformance.node import verify_with_node
from tests.ledger.ledgers import checked, parts
from tests.substrate.support import ALLOW_ALL, ToolWorld, codes, delta, one, rules, tool_call, when
from tests.substrate.test_asking import confirmed

LEDGER: Final = (Path(__file__).parent / "fixtures" / "before_all_failures.jsonl").read_bytes()
"""Told by the version before: a question about a change that breaks an invariant, one about a call that
nothing allows, and a mode that went down because of another such call."""
NO_GOAL: Final = {"v": 1, "effect": "deny", "subject": None, "when": when("exists", "goal.a")}


def always(effect: str) -> dict[str, Any]:
    return {"v": 2, "effect": effect, "subject": None}


@pytest.mark.parametrize("effect", MILDER)
@pytest.mark.parametrize("change", [True, False])
def test_what_nothing_allows_is_denied_whatever_else_is_said(effect: str, change: bool) -> None:
    with ToolWorld(policy=rules(a=always(effect))) as house:
        session = house.session()
        asked = delta(goal__a=1) if change else tool_call("note.read", house.token(session))
        answer = one(house.agent.propose(session, [asked]))
        assert (answer.verdict, answer.reason_code, answer.on_fail) == ("deny", "NO_ALLOW", "block")
        assert (codes(answer), answer.approval_id) == (["NO_ALLOW", "DENIED"], None)
        assert house.agent.show_schedule(session).mode == "normal"
        house.check(session)


def test_what_blocks_is_named_before_that_nothing_allows_it() -> None:
    with ToolWorld(policy=rules(a=always("ask"), b=always("deny"))) as house:
        answer = one(house.agent.propose(house.session(), [delta(goal__a=1)]))
    assert [(one.code, one.constraint) for one in answer.reasons] == [
        ("DENIED", "constraint.b"),
        ("NO_ALLOW", None),
        ("DENIED", "constraint.a"),
    ]


@pytest.mark.parametrize("effect", MILDER)
def test_a_broken_invariant_is_not_hidden_by_what_is_milder(effect: str) -> None:
    with ToolWorld(policy=rules(z=ALLOW_ALL, a=always(effect), **{"invariant.i": NO_GOAL})) as house:
        session = house.session()
        answer = one(house.agent.propose(session, [delta(goal__a=1)]))
        assert (answer.verdict, answer.reason_code, answer.on_fail) == ("deny", "INVARIANT_BROKEN", "block")
        assert (codes(answer), answer.approval_id) == (["INVARIANT_BROKEN", "DENIED"], None)
        house.check(session)


def test_an_allow_that_is_an_invariant_allows_nothing_also_if_it_fails() -> None:
    kept = {"v": 1, "effect": "allow", "subject": None, "when": when("missing", "goal.a"), "on_fail": "ask"}
    with ToolWorld(policy=rules(**{"invariant.i": kept})) as house:
        answer = one(house.agent.propose(house.session(), [delta(goal__a=1)]))
    assert (answer.on_fail, codes(answer)) == ("block", ["NO_ALLOW", "INVARIANT_BROKEN"])


def test_one_question_is_about_all_that_asks() -> None:
    asks = {**NO_GOAL, "on_fail": "ask"}
    with ToolWorld(policy=rules(z=ALLOW_ALL, a=always("ask"), **{"invariant.i": asks})) as house:
        session = house.session()
        answer = one(house.agent.propose(session, [delta(goal__a=1)]))
        assert (answer.reason_code, codes(answer)) == ("ASK", ["DENIED", "INVARIANT_BROKEN"])
        card = house.ann.show_approval(answer.approval_id or "")
        assert confirmed(house.ann.approve(card)).verdict == "allow"
        house.check(session)


def test_what_is_said_of_a_constraint_is_said_once() -> None:
    """Two goals break a rule that stood in the way before them, too."""
    both = {"v": 1, "effect": "deny", "subject": None}
    both["when"] = when("any", when("missing", "goal.z"), when("exists", "goal.a"), when("exists", "goal.b"))
    with ToolWorld(policy=rules(z=ALLOW_ALL, one=both)) as house:
        answer = one(house.agent.propose(house.session(), [delta(goal__a=1, goal__b=1)]))
    assert codes(answer) == ["DENIED"]


# -- ledgers from before -----------------------------------------------------------------------------------


def test_the_rule_of_before_can_still_be_asked_for() -> None:
    given = policy(constraints={"constraint.a": always("ask")}, arbitration={"failures": "first"})
    with ToolWorld(policy=given) as house:
        answer = one(house.agent.propose(house.session(), [delta(goal__a=1)]))
    assert (answer.reason_code, codes(answer)) == ("ASK", ["DENIED", "NO_ALLOW"])


def test_a_ledger_from_before_is_decided_again_as_it_was() -> None:
    _, entries = parts(LEDGER)
    results = [one for entry in entries if entry["verb"] == "PROPOSE" for one in entry["delta"]["results"]]
    assert [(one["reason_code"], one["on_fail"]) for one in results] == [
        ("ASK", "ask"),
        ("ASK", "ask"),
        ("DENIED", "degrade"),
    ]
    assert checked(LEDGER).ok, checked(LEDGER).first_bad
    assert verify_with_node(LEDGER).code == 0


def test_by_the_rule_of_today_it_would_have_been_decided_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = {name: value for name, value in policies.EARLIER["arbitration"].items() if name != "failures"}
    monkeypatch.setitem(policies.EARLIER, "arbitration", earlier)
    assert not checked(LEDGER).ok
