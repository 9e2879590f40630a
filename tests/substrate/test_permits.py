"""Calls that their callers run: a permit is given once, for one call, to who proposed it, and it ends."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.events import Arbitrated, OutcomeRecorded
from beliefd.ledger.replay import Position
from beliefd.protocol.substrate import CandidateAnswer
from beliefd.testing.world import AGENT, OTHER_AGENT, Person, refused
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, ToolWorld, codes, deny, one, rules, with_tools

ASKS = rules(all=ALLOW_ALL, ask=deny("mail", on_fail="ask"))
TOOLS: dict[str, Any] = {
    "Bash": {"executor": "caller", "mutates": True},
    "mail": {"executor": "caller", "schema": {"type": "object", "required": ["to"]}},
}
RULES = with_tools(ASKS, **TOOLS)


def wants(tool_id: str, token: str | None, join_key: str | None = None, **args: Any) -> dict[str, Any]:
    named = {"capability_token": token, "join_key": join_key}
    call = {"kind": "tool_call", "tool_id": tool_id, "args": args}
    return {**call, **{name: value for name, value in named.items() if value is not None}}


def ask(who: Person, session: str, call: dict[str, Any], **more: Any) -> CandidateAnswer:
    return one(who.propose(session, [call], execute="caller", **more))


def approve(house: ToolWorld, answer: CandidateAnswer) -> str:
    """Say yes to what waits; the call that was let through."""
    assert answer.approval_id is not None
    told = house.ann.approve(house.ann.show_approval(answer.approval_id))
    assert told.call is not None
    assert told.call.call_id is not None
    return told.call.call_id


@pytest.fixture
def house(build: Build) -> ToolWorld:
    return build(policy=RULES)


def test_what_is_allowed_begins_with_the_event_that_allows_it_and_is_reported_once(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session)
    answer = ask(house.agent, session, wants("Bash", token, "use-1", command="ls"))
    assert (answer.verdict, answer.reason_code, answer.status) == ("allow", "ALLOWED", "running")
    event = house.deltas(session)[-1]
    assert isinstance(event, Arbitrated)
    call, permit = event.results[0].call, answer.permit
    assert call is not None
    assert permit is not None
    assert (permit.call_id, permit.args_hash, permit.policy_hash, permit.expires_at) == (
        call.call_id,
        call.args_hash,
        house.steward.in_force.hash,
        call.deadline,
    )
    told = house.agent.report_outcome(session, call.call_id, "ok", result="a.txt", cpu_ms=7)
    assert (told.status, told.label, told.content) == ("ok", "attested", told.result_hash)
    kept = house.agent.read_content(str(told.content))
    assert msgspec.json.decode(kept) == {"result": "a.txt"}
    recorded = house.deltas(session)[-1]
    assert isinstance(recorded, OutcomeRecorded)
    assert (recorded.result, recorded.error) == (None, "")
    view = house.agent.show_call(session, call.call_id)
    assert (view.status, view.join_key, view.executor, view.label, view.content, view.permit) == (
        "ok",
        "use-1",
        "caller",
        "attested",
        told.content,
        None,
    )
    assert view.provenance is not None
    assert view.provenance.source == "agent"
    house.check(session)


def test_a_proposal_again_is_answered_without_a_permit(house: ToolWorld) -> None:
    session = house.session()
    call = wants("Bash", house.token(session), "use-1", command="ls")
    first = ask(house.agent, session, call)
    again = ask(house.agent, session, call)
    assert (again.verdict, again.reason_code, again.status, again.permit) == (
        "allow",
        "REPEATED",
        "running",
        None,
    )
    assert again.call_id == first.call_id
    house.agent.report_outcome(session, str(first.call_id), "ok", result=1)
    assert ask(house.agent, session, call).status == "ok"
    other = ask(house.agent, session, wants("Bash", house.token(session), "use-1", command="rm"))
    assert (other.verdict, codes(other), other.permit) == ("deny", ["REPEATED_KEY"], None)
    house.check(session)


def test_the_same_request_again_under_its_key_is_answered_without_a_permit(house: ToolWorld) -> None:
    session = house.session()
    call = wants("Bash", house.token(session), "use-1", command="ls")
    first = ask(house.agent, session, call, idempotency_key="k")
    again = ask(house.agent, session, call, idempotency_key="k")
    assert first.permit is not None
    assert (again.permit, again.reason_code, again.call_id) == (None, "REPEATED", first.call_id)


def nothing_recorded(house: ToolWorld, session: str, code: Code, act: Callable[[], object]) -> None:
    before, kept = len(house.entries(session)), house.hash(session)
    refused(code, act)
    assert (len(house.entries(session)), house.hash(session)) == (before, kept)


def test_only_the_holder_reports_only_its_call_and_only_once(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session)
    first = str(ask(house.agent, session, wants("Bash", token, "use-1", command="ls")).call_id)
    second = str(ask(house.agent, session, wants("Bash", token, "use-2", command="pwd")).call_id)
    waits = approve(house, ask(house.agent, session, wants("mail", token, "use-3", to="ana")))
    stranger = house.person(OTHER_AGENT)
    say = house.agent.report_outcome
    nothing_recorded(
        house, session, Code.FORBIDDEN, lambda: stranger.report_outcome(session, first, "ok", result=1)
    )
    nothing_recorded(house, session, Code.CONFLICT, lambda: say(session, waits, "ok", result=1))
    nothing_recorded(house, session, Code.NOT_FOUND, lambda: say(session, "call-of-another", "ok"))
    say(session, first, "error", error="no such file")
    nothing_recorded(house, session, Code.CONFLICT, lambda: say(session, first, "ok", result=1))
    nothing_recorded(house, session, Code.CONFLICT, lambda: house.agent.begin_call(session, first))
    nothing_recorded(house, session, Code.FORBIDDEN, lambda: stranger.begin_call(session, waits))
    assert house.agent.show_call(session, second).status == "running"
    house.check(session)


def test_a_permit_that_nobody_reports_on_ends_as_unknown_and_is_never_given_again(house: ToolWorld) -> None:
    session = house.session()
    call = wants("Bash", house.token(session), "use-1", command="ls")
    call_id = str(ask(house.agent, session, call).call_id)
    house.clock.advance(34)
    assert house.expire() == 0
    house.clock.advance(2)
    assert house.expire() == 1
    assert house.agent.show_call(session, call_id).status == "unknown"
    again = ask(house.agent, session, call)
    assert (again.reason_code, again.status, again.permit) == ("REPEATED", "unknown", None)
    say = house.agent.report_outcome
    nothing_recorded(house, session, Code.CONFLICT, lambda: say(session, call_id, "unknown"))
    assert say(session, call_id, "ok", result="late").status == "ok"
    nothing_recorded(house, session, Code.CONFLICT, lambda: say(session, call_id, "ok", result="later"))
    house.check(session)


def test_a_server_that_dies_between_permit_and_report_gives_no_second_permit(build: Build) -> None:
    house = build(policy=RULES)
    session = house.session()
    call = wants("Bash", house.token(session), "use-1", command="ls")
    first = ask(house.agent, session, call)
    house.forget()
    assert ask(house.agent, session, call).permit is None
    house.clock.advance(40)
    house.forget()
    assert house.expire() == 1
    assert ask(house.agent, session, call).status == "unknown"
    assert house.agent.show_call(session, str(first.call_id)).permit is None
    house.check(session)


def test_what_waits_is_asked_once_and_begins_once_when_it_is_proposed_again(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session)
    first = ask(house.agent, session, wants("mail", token, "use-1", to="ana"))
    assert (first.verdict, first.on_fail, first.permit) == ("defer", "ask", None)
    assert first.approval_url == f"/v1/approvals/{first.approval_id}"
    again = ask(house.agent, session, wants("mail", token, "use-2", to="ana"))
    assert (again.approval_id, again.content_hash) == (first.approval_id, first.content_hash)
    assert ask(house.agent, session, wants("mail", token, "use-3", to="bob")).approval_id != first.approval_id
    call_id = approve(house, first)
    assert house.agent.show_call(session, call_id).status == "scheduled"
    card = house.ann.show_approval(str(first.approval_id))
    assert str(card.came_to).startswith(
        "approved; its agent can make the call now, until 2026-01-01T01:00:00"
    )
    begun = ask(house.agent, session, wants("mail", token, "use-4", to="ana"))
    assert (begun.call_id, begun.status, begun.permit is not None) == (call_id, "running", True)
    for key in ("use-1", "use-4"):
        repeated = ask(house.agent, session, wants("mail", token, key, to="ana"))
        assert (repeated.call_id, repeated.reason_code, repeated.permit) == (call_id, "REPEATED", None)
    new = ask(house.agent, session, wants("mail", token, "use-5", to="ana"))
    assert (new.verdict, new.call_id, new.approval_id != first.approval_id) == ("defer", None, True)
    house.agent.report_outcome(session, call_id, "ok", result="sent")
    assert house.ann.show_approval(str(first.approval_id)).came_to == "approved, and it ran"
    house.check(session)


def test_a_permit_that_was_given_to_who_came_back_ends_too(house: ToolWorld) -> None:
    session = house.session()
    call = wants("mail", house.token(session), "use-1", to="ana")
    call_id = approve(house, ask(house.agent, session, call))
    house.clock.advance(3_000)
    assert ask(house.agent, session, call).permit is not None
    house.clock.advance(40)
    assert house.expire() == 1
    assert house.agent.show_call(session, call_id).status == "unknown"
    house.check(session)


def test_what_was_approved_begins_once_by_its_name(house: ToolWorld) -> None:
    session = house.session()
    call_id = approve(house, ask(house.agent, session, wants("mail", house.token(session), "use-1", to="a")))
    begun = house.agent.begin_call(session, call_id)
    assert (begun.verdict, begun.status, begun.permit is not None) == ("allow", "running", True)
    nothing_recorded(house, session, Code.CONFLICT, lambda: house.agent.begin_call(session, call_id))
    house.check(session)


def test_what_was_approved_and_not_begun_in_time_never_begins(house: ToolWorld) -> None:
    session = house.session()
    call_id = approve(house, ask(house.agent, session, wants("mail", house.token(session), "use-1", to="a")))
    house.clock.advance(3_601)
    stopped = house.agent.begin_call(session, call_id)
    assert (stopped.verdict, codes(stopped), stopped.status, stopped.permit) == (
        "deny",
        ["OVERDUE"],
        "stopped",
        None,
    )
    house.check(session)


def forbid(house: ToolWorld, *_: str) -> None:
    house.steward.in_force.adopt(with_tools(rules(all=ALLOW_ALL, no=deny("mail")), **TOOLS))


def redefine(house: ToolWorld, *_: str) -> None:
    changed = {**TOOLS["mail"], "timeout_ms": 1_000}
    house.steward.in_force.adopt(with_tools(ASKS, **{**TOOLS, "mail": changed}))


def undeclare(house: ToolWorld, *_: str) -> None:
    house.steward.in_force.adopt(ASKS)


def revoke(house: ToolWorld, session: str, token: str) -> None:
    house.root.revoke_capability(f"{session}/{token.partition('.')[0]}")


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (forbid, "DENIED"),
        (redefine, "TOOL_CHANGED"),
        (undeclare, "UNKNOWN_TOOL"),
        (revoke, "BAD_CAPABILITY"),
    ],
)
def test_what_changes_after_a_yes_stops_the_call_before_it_begins(
    house: ToolWorld, change: Callable[[ToolWorld, str, str], None], code: str, again: bool
) -> None:
    session = house.session()
    token = house.token(session)
    call = wants("mail", token, "use-1", to="ana")
    call_id = approve(house, ask(house.agent, session, call))
    change(house, session, token)
    stopped = ask(house.agent, session, call) if again else house.agent.begin_call(session, call_id)
    assert (stopped.verdict, codes(stopped), stopped.status, stopped.permit) == (
        "deny",
        [code],
        "stopped",
        None,
    )
    assert house.state(session).substrate.calls[call_id].status == "stopped"
    house.check(session)


def test_budgets_are_set_aside_with_the_permit_and_settled_with_the_report(house: ToolWorld) -> None:
    uses = {"tokens": 60}
    house.steward.in_force.adopt(with_tools(ASKS, Bash={**TOOLS["Bash"], "uses": uses}))
    session = house.session()
    token = house.token(session, budgets={"calls": 3, "tokens": 100})
    name = f"{session}/{token.partition('.')[0]}"
    calls = [wants("Bash", token, f"use-{number}", command="ls") for number in range(2)]
    first, second = house.agent.propose(session, calls, execute="caller").results
    assert (first.verdict, second.verdict, codes(second)) == ("allow", "deny", ["BUDGET_EXHAUSTED"])
    held = house.root.show_capability(session, name)
    assert (held.reserved.tokens, held.used.calls) == (60, 1)
    house.agent.report_outcome(session, str(first.call_id), "ok", result=1, tokens=20)
    held = house.root.show_capability(session, name)
    assert (held.reserved.tokens, held.used.tokens, held.used.calls) == (0, 20, 1)
    third = ask(house.agent, session, wants("Bash", token, "use-3", command="ls"))
    assert third.permit is not None
    house.clock.advance(40)
    house.expire()
    held = house.root.show_capability(session, name)
    assert (held.reserved.tokens, held.used.tokens) == (0, 80)
    house.check(session)


def test_who_runs_a_tool_is_its_definition_and_not_its_caller(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session)
    for tool_id, execute in (("note.read", "caller"), ("Bash", "server")):
        call = {**wants(tool_id, token, "use"), "args": {}}
        answer = one(house.agent.propose(session, [call], execute=execute))
        assert (answer.verdict, codes(answer)) == ("deny", ["WRONG_EXECUTOR"]), tool_id
    assert house.toolbox.count == 0
    own = house.person(AGENT).propose(session, [{**wants("note.read", token), "args": {}}])
    call_id = str(one(own).call_id)
    nothing_recorded(
        house, session, Code.CONFLICT, lambda: house.agent.report_outcome(session, call_id, "ok")
    )
    nothing_recorded(house, session, Code.CONFLICT, lambda: house.agent.begin_call(session, call_id))
    house.check(session)


LOOK_ALIKES = (
    "bash",
    "BASH",
    "B\u0430sh",
    "\uff22ash",
    "B\u200bash",
    "Bash ",
    "B\u00e0sh",
    "%42ash",
    "Ba\u0301sh",
)


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_what_only_looks_like_a_tool_is_no_tool(house: ToolWorld, name: str, everything: bool) -> None:
    more = {"*": {"executor": "caller"}} if everything else {}
    house.steward.in_force.adopt(with_tools(ASKS, **{**TOOLS, **more}))
    session = house.session()
    answer = ask(house.agent, session, wants(name, house.token(session), "use", command="ls"))
    if everything and name == "%42ash":
        assert answer.permit is not None  # another name altogether, whatever it decodes to
    else:
        assert (answer.verdict, codes(answer), answer.permit) == ("deny", ["UNKNOWN_TOOL"], None)


def test_a_star_stands_for_tools_that_callers_run_and_for_no_others(house: ToolWorld) -> None:
    with pytest.raises(ValueError, match="executor: caller"):
        msgspec.convert({"tools": {"*": {}}}, Policy)
    house.steward.in_force.adopt(with_tools(ASKS, **{"*": {"executor": "caller", "tier": "MODIFY"}}))
    session = house.session()
    token = house.token(session)
    assert ask(house.agent, session, wants("anything", token, x=1)).permit is not None
    assert codes(ask(house.agent, session, wants("*", token))) == ["UNKNOWN_TOOL"]
    assert codes(ask(house.agent, session, wants("note.read", token))) == ["WRONG_EXECUTOR"]


def test_tools_that_callers_run_are_listed_with_the_others(house: ToolWorld) -> None:
    listed = {one.tool_id: one.definition.executor for one in house.agent.list_tools().tools}
    assert (listed["Bash"], listed["mail"], listed["note.read"]) == ("caller", "caller", msgspec.UNSET)


def test_arguments_that_do_not_fit_the_declared_schema_get_no_permit(house: ToolWorld) -> None:
    session = house.session()
    answer = ask(house.agent, session, wants("mail", house.token(session), "use-1", subject="x"))
    assert (answer.verdict, codes(answer)) == ("deny", ["BAD_ARGUMENTS"])


def test_a_rule_that_has_changed_since_asks_anew(house: ToolWorld) -> None:
    """A yes is bound to the rule that asked: without a new question nobody could ever say it."""
    session = house.session()
    call = wants("mail", house.token(session), "use-1", to="ana")
    first = ask(house.agent, session, call)
    changed = {**deny("mail", on_fail="ask"), "reason": "a person looks at every mail"}
    house.root.adopt_policy(with_tools(rules(all=ALLOW_ALL, ask=changed), **TOOLS))
    assert "the rule has changed" in str(house.ann.show_approval(str(first.approval_id)).cannot_run)
    again = ask(house.agent, session, {**call, "join_key": "use-2"})
    assert again.approval_id not in (None, first.approval_id)
    assert ask(house.agent, session, {**call, "join_key": "use-3"}).approval_id == again.approval_id
    assert house.agent.show_call(session, approve(house, again)).status == "scheduled"
    house.check(session)


def test_a_permit_is_answered_without_another_look_at_the_store(
    house: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = house.session()
    token = house.token(session)
    ask(house.agent, session, wants("Bash", token, "use-1", command="ls"))
    positions, looks = house.steward.positions, list[str]()
    fresh = positions.fresh

    async def looking(session_id: str) -> Position | None:
        looks.append(session_id)
        return await fresh(session_id)

    monkeypatch.setattr(positions, "fresh", looking)
    assert ask(house.agent, session, wants("Bash", token, "use-2", command="ls")).status == "running"
    assert session not in looks
    # What was asked before may have ended since: that is looked up.
    assert ask(house.agent, session, wants("Bash", token, "use-1", command="ls")).reason_code == "REPEATED"
    assert session in looks
