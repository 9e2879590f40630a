"""Tiers of tools: the caller's own must reach them, DELETE and PRIVILEGE ask a person, policy only raises."""

from typing import Any

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.explaining import explain_call
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.ledger.chain import policy_hash
from beliefd.protocol.substrate import CandidateAnswer
from beliefd.testing.world import AGENT, policy, refused
from tests.claims.support import TIERS
from tests.substrate.conftest import Build
from tests.substrate.support import (
    ALLOW_ALL,
    Toolbox,
    ToolWorld,
    allow,
    codes,
    delta,
    deny,
    one,
    tool_call,
    when,
)

EVERYTHING = {"constraint.all": ALLOW_ALL}


def toolbox() -> Toolbox:
    box = Toolbox()
    for tier in Tier:
        box.add(f"disk.{tier.name.lower()}", lambda: "done", tier=tier.name)
    return box


def called(house: ToolWorld, session: str, who: Principal, tool_id: str) -> CandidateAnswer:
    token = house.token(session, who)
    return one(house.person(who).propose(session, [tool_call(tool_id, token)]))


def agent(tier: str) -> Principal:
    return Principal(id=f"agent://{tier.lower()}", role=Role.AGENT, tier=tier)


def test_no_caller_reaches_a_tool_above_its_own_tier_whatever_is_allowed(build: Build) -> None:
    house = build(policy=policy(constraints=EVERYTHING), toolbox=toolbox())
    session = house.session()
    for own in Tier:
        for tier in Tier:
            answer = called(house, session, agent(own.name), f"disk.{tier.name.lower()}")
            if tier > own:
                assert (answer.verdict, codes(answer)) == ("deny", ["TIER_TOO_LOW"])
                assert answer.reasons[0].remedy == f"a principal of tier {tier.name}"
            elif tier >= Tier.DELETE:
                assert (answer.verdict, answer.on_fail, codes(answer)) == ("defer", "ask", ["NEEDS_PERSON"])
            else:
                assert (answer.verdict, answer.status) == ("allow", "ok")
    assert {name for name, _ in house.toolbox.ran} == {"disk.read_only", "disk.write_limited", "disk.modify"}
    house.check(session)


def test_a_person_lets_a_delete_tool_run_once(build: Build) -> None:
    house = build(policy=policy(constraints=EVERYTHING), toolbox=toolbox())
    session = house.session()
    waits = called(house, session, AGENT, "disk.delete")
    assert waits.approval_id is not None
    card = house.ann.show_approval(waits.approval_id)
    assert (card.tier, card.title, card.proposer) == ("DELETE", "disk.delete", AGENT.id)
    decided = house.ann.approve(card)
    assert decided.call is not None
    assert (decided.call.verdict, decided.call.status) == ("allow", "ok")
    assert house.toolbox.count == 1
    house.check(session)


def test_policy_lets_named_tools_run_without_a_person_and_no_others(build: Build) -> None:
    named = {"tools_without_person": ["disk.delete"]}
    house = build(policy=policy(constraints=EVERYTHING, approvals=named), toolbox=toolbox())
    session = house.session()
    assert called(house, session, AGENT, "disk.delete").status == "ok"
    assert codes(called(house, session, AGENT, "disk.privilege")) == ["NEEDS_PERSON"]
    assert codes(called(house, session, agent("MODIFY"), "disk.delete")) == ["TIER_TOO_LOW"]


def test_what_is_blocked_anyway_is_nobody_s_question(build: Build) -> None:
    house = build(policy=policy(constraints={"constraint.one": allow("note.read")}), toolbox=toolbox())
    session = house.session()
    answer = called(house, session, AGENT, "disk.delete")
    assert (answer.verdict, codes(answer), answer.approval_id) == ("deny", ["NO_ALLOW"], None)
    denied = {**EVERYTHING, "constraint.no": deny("disk.delete")}
    house.steward.in_force.adopt(policy(constraints=denied))
    answer = called(house, session, AGENT, "disk.delete")
    assert (answer.verdict, answer.on_fail, answer.approval_id) == ("deny", "block", None)


def test_a_constraint_s_question_and_the_tier_s_are_one_question(build: Build) -> None:
    ask = deny("disk.delete", when=when("missing", "fact.source"), on_fail="ask", reason="no source")
    house = build(policy=policy(constraints={**EVERYTHING, "constraint.ask": ask}), toolbox=toolbox())
    session = house.session()
    waits = called(house, session, AGENT, "disk.delete")
    assert sorted(codes(waits)) == ["DENIED", "NEEDS_PERSON"]
    decided = house.ann.approve(house.ann.show_approval(str(waits.approval_id)))
    assert decided.call is not None
    assert decided.call.status == "ok"
    house.check(session)


def test_what_a_person_decides_and_a_constraint_puts_off_is_asked_and_waits_for_both(build: Build) -> None:
    later = deny("disk.delete", on_fail="defer", when=when("missing", "goal.ready"))
    house = build(policy=policy(constraints={**EVERYTHING, "constraint.later": later}), toolbox=toolbox())
    session = house.session()
    waits = called(house, session, AGENT, "disk.delete")
    assert (waits.verdict, waits.reason_code) == ("defer", "ASK")
    assert sorted(codes(waits)) == ["DENIED", "NEEDS_PERSON"]
    card = house.ann.show_approval(waits.approval_id or "")
    refused(Code.CONFLICT, lambda: house.ann.approve(card))
    assert house.toolbox.count == 0
    assert one(house.agent.propose(session, [delta(goal__ready=1)])).verdict == "allow"
    house.ann.approve(house.ann.show_approval(waits.approval_id or ""))
    assert house.toolbox.count == 1
    house.check(session)


def test_a_yes_is_for_the_tier_that_was_shown(build: Build) -> None:
    house = build(policy=policy(constraints=EVERYTHING), toolbox=toolbox())
    session = house.session()
    waits = called(house, session, AGENT, "disk.delete")
    card = house.ann.show_approval(str(waits.approval_id))
    raised = policy(constraints=EVERYTHING, tiers={"tools": {"disk.*": "PRIVILEGE"}})
    house.steward.in_force.adopt(raised)
    decided = house.ann.approve(card)
    assert decided.call is not None
    assert (decided.call.verdict, house.toolbox.count) == ("defer", 0)
    again = house.ann.show_approval(str(decided.approval.successor))
    assert again.tier == "PRIVILEGE"
    done = house.ann.approve(again)
    assert done.call is not None
    assert done.call.status == "ok"
    house.check(session)


def test_a_caller_whom_the_tier_has_outgrown_is_denied_though_a_person_said_yes(build: Build) -> None:
    house = build(policy=policy(constraints=EVERYTHING), toolbox=toolbox())
    session = house.session()
    waits = called(house, session, agent("DELETE"), "disk.delete")
    card = house.ann.show_approval(str(waits.approval_id))
    house.steward.in_force.adopt(policy(constraints=EVERYTHING, tiers={"tools": {"*": "PRIVILEGE"}}))
    error = refused(Code.CONFLICT, lambda: house.ann.approve(card))
    assert (error.details or {})["reasons"] == ["TIER_TOO_LOW"]
    assert house.toolbox.count == 0
    house.check(session)


def test_a_tier_that_has_been_raised_takes_the_approvers_of_today(build: Build) -> None:
    two = {"approvers": {"PRIVILEGE": {"required": 2}}}
    house = build(policy=policy(constraints=EVERYTHING, approvals=two), toolbox=toolbox())
    session = house.session()
    waits = called(house, session, AGENT, "disk.delete")
    raised = policy(constraints=EVERYTHING, approvals=two, tiers={"tools": {"disk.delete": "PRIVILEGE"}})
    house.steward.in_force.adopt(raised)
    first = house.ann.approve(house.ann.show_approval(str(waits.approval_id)))
    assert (first.status, first.call) == ("pending", None)


@pytest.mark.parametrize("own", TIERS)
@pytest.mark.parametrize("said", TIERS)
def test_no_policy_lowers_the_tier_of_a_tool(own: Any, said: Any) -> None:
    for given in (
        {"tiers": {"tools": {"t.*": said}}},
        {"tiers": {"tools": {"t.x": said, "*": "READ_ONLY"}}},
        {"tools": {"t.x": {"tier": said}}},
    ):
        assert Tier[policy(**given).tool_tier("t.x", own)] == max(Tier[own], Tier[said])
        assert policy(**given).tool_tier("other", own) in (own, max(own, "READ_ONLY", key=TIERS.index))


def test_rules_know_the_tier_that_counts(build: Build) -> None:
    when_small = allow("note.read", when=when("eq", "call.tier", "MODIFY"))
    given = policy(constraints={"constraint.small": when_small}, tiers={"tools": {"note.*": "MODIFY"}})
    house = build(policy=given)
    session = house.session()
    assert called(house, session, AGENT, "note.read").verdict == "allow"


def test_an_explanation_is_given_for_a_caller_of_some_tier() -> None:
    given: Policy = policy(constraints=EVERYTHING, tools={"t.x": {"tier": "DELETE"}})
    told = explain_call(given, policy_hash(given), {}, Question(tool_id="t.x", tier="MODIFY"))
    assert (told.verdict, told.reason_code) == ("deny", "TIER_TOO_LOW")
    told = explain_call(given, policy_hash(given), {}, Question(tool_id="t.x"))
    assert (told.verdict, told.reason_code) == ("defer", "ASK")
