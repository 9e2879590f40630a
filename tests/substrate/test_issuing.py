"""Agents need no admin: policy issues capabilities, to whom it names and no further."""

from typing import Any

import msgspec
import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.events import Arbitrated, CapabilityIssued
from beliefd.ledger.chain import policy_hash
from beliefd.testing.world import AGENT, BY_ROLE, policy, refused
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, SUB_AGENT, ToolWorld, codes, one, tool_call

TO_WRITER = {
    "name": "notes",
    "principals": [AGENT.id],
    "scope": {"tools": ["note.read", "calc.add"], "budgets": {"calls": 3}},
    "expires_in_seconds": 600,
}
NOTE = tool_call("note.read", None)


def issuing(*rules: Any, **more: Any) -> Policy:
    return policy(constraints={"constraint.all": ALLOW_ALL}, capabilities=list(rules or [TO_WRITER]), **more)


@pytest.fixture
def house(build: Build) -> ToolWorld:
    return build(policy=issuing())


def test_an_agent_calls_what_policy_issues_to_it_without_an_admin_or_a_token(house: ToolWorld) -> None:
    session = house.session()
    assert one(house.agent.propose(session, [NOTE])).status == "ok"
    (decided,) = [event for event in house.deltas(session) if isinstance(event, Arbitrated)]
    (capability,) = decided.issued or ()
    assert (capability.agent_id, capability.rule, capability.issued_by) == (
        AGENT.id,
        "notes",
        "policy://notes",
    )
    assert decided.results[0].call is not None
    assert decided.results[0].call.capability_id == capability.capability_id
    assert one(house.agent.propose(session, [NOTE])).status == "ok", "the same one again"
    assert len(house.state(session).substrate.capabilities) == 1
    shown = house.agent.show_capability(session, capability.capability_id)
    assert (shown.rule, shown.used.calls) == ("notes", 2)
    house.check(session)


def test_nobody_else_and_nothing_else_is_issued(house: ToolWorld) -> None:
    session = house.session()
    for who, asks in (
        (house.helper, NOTE),
        (house.agent, tool_call("net.get", None, url="https://a.example")),
    ):
        assert codes(one(who.propose(session, [asks]))) == ["NO_CAPABILITY"]
    assert not house.state(session).substrate.capabilities
    house.check(session)


def test_budgets_hold_over_all_ways_to_use_and_renew_them(house: ToolWorld) -> None:
    """Neither another token nor another capability after the first has expired brings a budget back."""
    session = house.session()
    assert one(house.agent.propose(session, [NOTE])).status == "ok"
    token = house.agent.issue_capability(session).token
    assert one(house.agent.propose(session, [tool_call("note.read", token)])).status == "ok"
    house.clock.advance(601)
    assert codes(one(house.agent.propose(session, [tool_call("note.read", token)]))) == ["BAD_CAPABILITY"]
    assert one(house.agent.propose(session, [NOTE])).status == "ok", "issued anew"
    assert codes(one(house.agent.propose(session, [NOTE]))) == ["BUDGET_EXHAUSTED"]
    house.clock.advance(601)
    assert codes(one(house.agent.propose(session, [NOTE]))) == ["BUDGET_EXHAUSTED"]
    assert house.toolbox.count == 3
    other = house.session()
    assert one(house.agent.propose(other, [NOTE])).status == "ok", "another session has its own"
    house.check(session)


def test_an_agent_asks_for_a_token_of_its_own_to_hand_it_on(house: ToolWorld) -> None:
    session = house.session()
    issued = house.agent.issue_capability(session, scope={"tools": ["note.read"], "budgets": {"calls": 2}})
    assert (issued.capability.agent_id, issued.capability.issued_by) == (AGENT.id, AGENT.id)
    event = house.deltas(session)[-1]
    assert isinstance(event, CapabilityIssued)
    assert [root.rule for root in event.issued or ()] == ["notes"]
    child = house.agent.issue_capability(
        session,
        agent_id=SUB_AGENT.id,
        scope={"tools": ["note.read"], "budgets": {"calls": 1}},
        parent_token=issued.token,
    )
    assert one(house.helper.propose(session, [tool_call("note.read", child.token)])).status == "ok"
    root = house.state(session).substrate.capabilities[issued.capability.parent or ""]
    assert root.used.calls == 1
    secret = issued.token.partition(".")[2].encode()
    assert not any(secret in record for record in house.ledger(session)), "no secret is in the ledger"
    house.check(session)


@pytest.mark.parametrize(
    "asked",
    [
        {"agent_id": SUB_AGENT.id},
        {"scope": {"tools": ["*"], "budgets": {"calls": 3}}},
        {"scope": {"tools": ["note.read"]}},
        {"scope": {"tools": ["note.read"], "budgets": {"calls": 4}}},
        {"scope": {"tools": ["note.read"], "fs_read_roots": ["/"], "budgets": {"calls": 3}}},
    ],
    ids=["for another", "more tools", "no budget", "more calls", "files"],
)
def test_more_than_policy_issues_is_refused(house: ToolWorld, asked: dict[str, Any]) -> None:
    session = house.session()
    refused(Code.FORBIDDEN, lambda: house.agent.issue_capability(session, **asked))
    assert not house.state(session).substrate.capabilities
    house.check(session)


def test_who_is_not_named_still_needs_an_admin(house: ToolWorld) -> None:
    session = house.session()
    scope = {"tools": ["note.read"], "budgets": {"calls": 1}}
    error = refused(Code.FORBIDDEN, lambda: house.helper.issue_capability(session, scope=scope))
    assert error.message == "role `agent` may not issue capabilities"
    refused(Code.INVALID_REQUEST, lambda: house.helper.issue_capability(session))
    assert house.root.issue_capability(session, agent_id=SUB_AGENT.id, scope=scope).token


def test_what_an_admin_revokes_policy_does_not_issue_again(house: ToolWorld) -> None:
    session = house.session()
    house.agent.propose(session, [NOTE])
    (capability_id,) = house.state(session).substrate.capabilities
    refused(Code.FORBIDDEN, lambda: house.agent.revoke_capability(f"{session}/{capability_id}"))
    house.root.revoke_capability(f"{session}/{capability_id}")
    house.clock.advance(10_000)
    assert codes(one(house.agent.propose(session, [NOTE]))) == ["BAD_CAPABILITY"]
    refused(Code.FORBIDDEN, lambda: house.agent.issue_capability(session))
    house.check(session)


def test_a_capability_counts_only_as_far_as_the_policy_of_now_issues_it(house: ToolWorld) -> None:
    session = house.session()
    token = house.agent.issue_capability(session).token
    by_token = [tool_call("note.read", token)]
    less = {**TO_WRITER, "scope": {"tools": ["note.read"], "budgets": {"calls": 2}}}
    house.steward.in_force.adopt(issuing(less))
    assert codes(one(house.agent.propose(session, by_token))) == ["BAD_CAPABILITY"]
    assert one(house.agent.propose(session, [NOTE])).status == "ok", "what it issues now is issued"
    house.steward.in_force.adopt(issuing({**TO_WRITER, "principals": [SUB_AGENT.id]}))
    assert codes(one(house.agent.propose(session, [NOTE]))) == ["NO_CAPABILITY"]
    assert codes(one(house.agent.propose(session, by_token))) == ["BAD_CAPABILITY"]
    house.check(session)


def test_a_rule_that_goes_while_a_call_runs_stops_the_next(house: ToolWorld) -> None:
    house.toolbox.add("slow", lambda: house.steward.in_force.adopt(issuing({**TO_WRITER, "name": "other"})))
    house.steward.in_force.adopt(issuing({**TO_WRITER, "scope": {"tools": ["*"]}}))
    session = house.session()
    answer = house.agent.propose(session, [tool_call("slow", None), NOTE])
    assert [result.status for result in answer.results] == ["ok", "stopped"]
    assert codes(answer.results[1]) == ["BAD_CAPABILITY"]
    house.check(session)


@pytest.mark.parametrize("role", BY_ROLE)
def test_a_rule_names_roles_or_principals(build: Build, role: Any) -> None:
    house = build(policy=issuing({**TO_WRITER, "principals": ["agent://x/*"], "roles": ["encoder"]}))
    session = house.session()
    answer = one(house.person(BY_ROLE[role]).propose(session, [NOTE]))
    assert (answer.status == "ok") == (role == "encoder")
    named = msgspec.structs.replace(AGENT, id="agent://x/1")
    assert one(house.person(named).propose(session, [NOTE])).status == "ok"


def test_a_repeated_key_is_answered_again_also_under_a_capability_that_was_renewed(build: Build) -> None:
    house = build(policy=issuing({**TO_WRITER, "scope": {"tools": ["*"]}}))
    session = house.session()
    mail = tool_call("email.send", None, "k", to="ana")
    first = one(house.agent.propose(session, [mail]))
    house.clock.advance(601)
    again = one(house.agent.propose(session, [mail]))
    assert (first.status, again.reason_code, again.call_id) == ("ok", "REPEATED", first.call_id)
    assert house.toolbox.count == 1


def test_a_call_that_waits_for_a_person_needs_no_token_either(build: Build) -> None:
    ask = {"v": 1, "effect": "deny", "subject": {"tool_id": "note.read"}, "on_fail": "ask"}
    constraints = {"constraint.all": ALLOW_ALL, "constraint.ask": ask}
    house = build(policy=policy(constraints=constraints, capabilities=[TO_WRITER]))
    session = house.session()
    waits = one(house.agent.propose(session, [NOTE]))
    assert waits.verdict == "defer"
    house.ann.approve(house.ann.show_approval(waits.approval_id or ""))
    assert house.toolbox.count == 1
    house.check(session)


def test_rules_that_issue_to_nobody_or_share_a_name_are_no_policy() -> None:
    for bad in (
        [{**TO_WRITER, "principals": []}],
        [TO_WRITER, TO_WRITER],
        [{**TO_WRITER, "principals": ["agent*"]}],
    ):
        with pytest.raises(msgspec.ValidationError):
            policy(capabilities=bad)


def test_a_policy_without_rules_keeps_its_hash() -> None:
    assert "capabilities" not in msgspec.to_builtins(Policy())
    assert "calls" not in msgspec.to_builtins(Policy())
    assert policy_hash(policy()) == policy_hash(Policy())


def test_all_capabilities_of_a_session_are_listed_with_what_is_left_on_every_level(house: ToolWorld) -> None:
    session = house.session()
    assert one(house.agent.propose(session, [NOTE])).status == "ok"
    issued = house.agent.issue_capability(session, scope={"tools": ["note.read"], "budgets": {"calls": 2}})
    house.agent.propose(session, [tool_call("note.read", issued.token)])
    first = house.ann.list_capabilities(session, limit=1)
    assert first.next is not None
    rest = house.ann.list_capabilities(session, cursor=first.next)
    assert rest.next is None
    views = {view.rule: view for view in (*first.capabilities, *rest.capabilities)}
    root, child = views["notes"], views[None]
    assert (root.issued_by, root.agent_id, root.parents) == ("policy://notes", AGENT.id, [])
    assert (root.used.calls, root.left.calls, root.left.tokens) == (2, 1, None)
    assert (child.used.calls, child.left.calls, child.issued_by) == (1, 1, AGENT.id)
    (above,) = child.parents
    assert (above.capability_id, above.left, above.used) == (root.capability_id, root.left, root.used)
    assert child == house.ann.show_capability(session, child.capability_id)
    held = house.state(session).substrate.capabilities[child.capability_id.partition("/")[2]]
    told = msgspec.json.encode((first, rest))
    assert issued.token.partition(".")[2].encode() not in told
    assert held.secret_hash.encode() not in told


def test_who_revokes_hears_what_the_agent_can_go_on_with(house: ToolWorld) -> None:
    session = house.session()
    derived = house.agent.issue_capability(session).capability
    root = f"{session}/{derived.parent}"
    by_admin = house.root.issue_capability(
        session, agent_id=AGENT.id, scope={"tools": ["*"]}, expires_in_seconds=60
    ).capability.capability_id
    to_all = house.root.issue_capability(
        session, agent_id="*", scope={"tools": ["*"]}
    ).capability.capability_id
    house.root.issue_capability(session, agent_id=SUB_AGENT.id, scope={"tools": ["*"]})
    ended = house.root.revoke_capability(derived.capability_id)
    assert set(ended.still_held) == {root, by_admin, to_all}
    house.clock.advance(601)
    ended = house.root.revoke_capability(to_all)
    assert ended.still_held == [], "what is left is not everybody's"
    ended = house.root.revoke_capability(derived.capability_id)
    assert ended.still_held == [root], "it has expired, and the next proposal renews it"
    assert one(house.agent.propose(session, [NOTE])).status == "ok"
    (renewed,) = house.root.revoke_capability(root).still_held
    assert renewed != root
    assert house.root.revoke_capability(renewed).still_held == []
    assert codes(one(house.agent.propose(session, [NOTE]))) == ["BAD_CAPABILITY"]


def test_what_policy_issues_no_more_is_not_said_to_be_held(house: ToolWorld) -> None:
    session = house.session()
    derived = house.agent.issue_capability(session).capability
    house.root.adopt_policy(msgspec.to_builtins(issuing({**TO_WRITER, "name": "other"})))
    assert house.root.revoke_capability(derived.capability_id).still_held == []
