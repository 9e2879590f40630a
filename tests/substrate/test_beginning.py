"""Calls are judged when they run: what changes while one call runs stops the next."""

import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.commands import StartCall
from beliefd.kernel.substrate.events import CallStarted, CallStopped, OutcomeRecorded
from beliefd.kernel.values import Role, Tier
from beliefd.steward.credentials import create_token
from beliefd.steward.effects.tools import EXECUTOR
from beliefd.stores.base import Store
from beliefd.testing.world import AGENT, ONTOLOGY, Person, refused
from tests.claims.credentials import fired, hired
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, ToolWorld, codes, delta, deny, rules, tool_call, when

WITH_FACT = rules(all=ALLOW_ALL, source=deny("quick", when=when("missing", "fact.source")))
Change = Callable[[ToolWorld, str, str], None]


def revoke(house: ToolWorld, session: str, token: str) -> None:
    house.root.revoke_capability(f"{session}/{token.partition('.')[0]}")


def expire(house: ToolWorld, *_: str) -> None:
    house.clock.advance(4_000)


def forbid(house: ToolWorld, *_: str) -> None:
    put_policy(house, rules(all=ALLOW_ALL, no=deny("quick")))


def lower(house: ToolWorld, *_: str) -> None:
    held = house.steward.in_force.policy
    modes = {"rules": {"normal": {"mutating": False}}}
    put_policy(house, msgspec.convert({**msgspec.to_builtins(held), "modes": modes}, Policy))


def unsay(house: ToolWorld, session: str, _: str) -> None:
    house.encoder.propose(session, [{"kind": "delta", "patch": {"remove": ["fact.source"]}}])


def raise_tier(house: ToolWorld, *_: str) -> None:
    held = house.steward.in_force.policy
    tiers = {"tools": {"quick": "DELETE"}}
    put_policy(house, msgspec.convert({**msgspec.to_builtins(held), "tiers": tiers}, Policy))


def put_policy(house: ToolWorld, policy: Policy) -> None:
    house.steward.in_force.adopt(policy)


def two_tools(house: ToolWorld, meanwhile: Callable[[], object]) -> None:
    house.toolbox.add("slow", meanwhile)
    house.toolbox.add("quick", lambda: "ran", mutates=True)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (revoke, "BAD_CAPABILITY"),
        (expire, "OVERDUE"),
        (forbid, "DENIED"),
        (lower, "MODE"),
        (unsay, "DENIED"),
        (raise_tier, "NEEDS_PERSON"),
    ],
)
def test_what_changes_while_one_call_runs_stops_the_next(build: Build, change: Change, code: str) -> None:
    house = build(policy=WITH_FACT)
    session = house.session()
    house.encoder.propose(session, [delta(fact__source="runbook")])
    token = house.token(session)
    two_tools(house, lambda: change(house, session, token))
    answer = house.agent.propose(session, [tool_call("slow", token), tool_call("quick", token, "k")])
    slow, quick = answer.results
    assert slow.verdict == "allow"
    assert (quick.verdict != "allow", quick.status) == (True, "stopped")
    assert codes(quick) == [code]
    assert [name for name, _ in house.toolbox.ran] == ["slow"]
    stopped = [event for event in house.deltas(session) if isinstance(event, CallStopped)]
    assert [event.call.tool_id for event in stopped] == ["quick"]
    house.check(session)


def test_nothing_stops_what_still_may(build: Build) -> None:
    house = build(policy=WITH_FACT)
    session = house.session()
    house.encoder.propose(session, [delta(fact__source="runbook")])
    token = house.token(session)
    two_tools(house, lambda: house.encoder.propose(session, [delta(fact__other="x")]).mode)
    answer = house.agent.propose(session, [tool_call("slow", token), tool_call("quick", token, "k")])
    assert [result.status for result in answer.results] == ["ok", "ok"]
    house.check(session)


def test_a_call_that_was_stopped_can_be_proposed_again_under_its_key(build: Build) -> None:
    house = build(policy=WITH_FACT)
    session = house.session()
    house.encoder.propose(session, [delta(fact__source="runbook")])
    token = house.token(session, budgets={"calls": 2})
    two_tools(house, lambda: unsay(house, session, token))
    quick = tool_call("quick", token, "k")
    assert house.agent.propose(session, [tool_call("slow", token), quick]).results[1].status == "stopped"
    house.encoder.propose(session, [delta(fact__source="again")])
    (again,) = house.agent.propose(session, [quick]).results
    assert (again.reason_code, again.status) == ("ALLOWED", "ok"), "it did not count as a call"
    house.check(session)


@pytest.mark.parametrize(("tier", "code"), [(None, "REVOKED"), (Tier.READ_ONLY, "TIER_TOO_LOW")])
def test_a_token_that_ends_or_is_made_anew_while_a_call_runs_counts_for_the_next(
    house: ToolWorld, tier: Tier | None, code: str
) -> None:
    store: Store = house.store
    house.run(lambda: create_token(store, AGENT.id, Role.AGENT, Tier.PRIVILEGE))
    (made,) = house.run(store.tokens)

    async def change() -> None:
        await store.revoke_token(made.token_id, house.clock.now())
        if tier is not None:
            await create_token(store, AGENT.id, Role.AGENT, tier)

    house.toolbox.registry.tool("slow")(change)
    house.toolbox.add("quick", lambda: "ran", mutates=True, tier="MODIFY")
    session = house.session()
    token = house.token(session)
    answer = house.agent.propose(session, [tool_call("slow", token), tool_call("quick", token, "k")])
    assert codes(answer.results[1]) == [code]
    assert house.toolbox.count == 0
    house.check(session)


def test_every_effect_has_its_beginning_in_the_ledger_before_it(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session)
    begun: list[int] = []

    def look() -> None:
        begun.append(sum(isinstance(event, CallStarted) for event in house.deltas(session)))

    house.toolbox.add("look", look)
    house.agent.propose(session, [tool_call("look", token)] * 3)
    assert begun == [1, 2, 3]
    kinds = [type(event) for event in house.deltas(session)]
    assert kinds.count(CallStarted) == kinds.count(OutcomeRecorded) == 3
    house.check(session)


def test_a_call_begins_once(house: ToolWorld) -> None:
    """Two processes that both hold a decision: one of them runs it."""
    session = house.session()
    token = house.token(session)
    again: list[Any] = []

    def look() -> None:
        (call_id,) = house.state(session).substrate.calls
        again.append(house.submit(session, StartCall(call_id=call_id), EXECUTOR).event)

    house.toolbox.add("look", look)
    house.agent.propose(session, [tool_call("look", token)])
    assert isinstance(again[0], Refused)
    house.check(session)


def test_independent_calls_run_side_by_side_and_others_one_after_the_other(house: ToolWorld) -> None:
    meeting = threading.Barrier(2)
    house.toolbox.add("meets", lambda: meeting.wait(20), concurrent=True)
    house.toolbox.add("alone", lambda: len(house.toolbox.ran))
    house.toolbox.add("writes", lambda: meeting.wait(0.2), concurrent=True, mutates=True)
    session = house.session()
    token = house.token(session)
    answer = house.agent.propose(session, [tool_call("meets", token)] * 2 + [tool_call("alone", token)])
    assert [result.status for result in answer.results] == ["ok"] * 3, "both were there at once"
    assert answer.results[2].result == 3
    answer = house.agent.propose(session, [tool_call("writes", token, "a"), tool_call("writes", token, "b")])
    assert [result.status for result in answer.results] == ["error"] * 2, "what changes things never is"
    house.check(session)


# -- through whom a capability came -----------------------------------------------------------------------


def handed_on(house: ToolWorld, boss: Person, middle: Person, session: str) -> str:
    """A capability of `middle`, narrowed down for `agent://writer`."""
    scope = {"tools": ["*"]}
    held = boss.issue_capability(session, agent_id=middle.principal.id, scope=scope).token
    return middle.issue_capability(session, agent_id=AGENT.id, scope=scope, parent_token=held).token


@pytest.mark.parametrize("gone", ["human://boss", "agent://middle"])
@pytest.mark.parametrize("meanwhile", [True, False])
def test_a_capability_ends_with_everybody_through_whom_it_came(
    build: Build, gone: str, meanwhile: bool
) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    boss, middle = hired(house, "human://boss", Role.ADMIN), hired(house, "agent://middle", Role.AGENT)
    token = handed_on(house, boss, middle, session)
    who = boss if gone == boss.principal.id else middle
    made = {one.name: one.token_id for one in house.run(house.store.tokens)}

    async def end() -> None:
        await house.store.revoke_token(made[gone], house.clock.now())

    house.toolbox.registry.tool("slow")(end if meanwhile else lambda: None)
    house.toolbox.add("quick", lambda: "ran")
    if not meanwhile:
        fired(house, who)
    calls = [tool_call("slow", token), tool_call("quick", token)]
    answer = house.agent.propose(session, calls if meanwhile else calls[1:])
    last = answer.results[-1]
    assert (codes(last), last.status) == (["BAD_CAPABILITY"], "stopped" if meanwhile else None)
    assert gone in last.reasons[0].text
    assert house.toolbox.count == 0
    hired(house, gone, who.principal.role)
    assert house.agent.propose(session, [tool_call("quick", token)]).results[0].status == "ok"
    house.check(session)


def test_a_yes_to_a_call_does_not_outlive_who_issued_its_capability(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL, asks=deny("quick", on_fail="ask")))
    session = house.session()
    house.toolbox.add("quick", lambda: "ran")
    boss = hired(house, "human://boss", Role.ADMIN)
    token = boss.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]}).token
    (asked,) = house.agent.propose(session, [tool_call("quick", token)]).results
    fired(house, boss)
    card = house.ann.show_approval(str(asked.approval_id))
    assert "human://boss" in str(card.cannot_run)
    refused(Code.CONFLICT, lambda: house.ann.approve(card))
    assert house.toolbox.count == 0
    house.check(session)


def test_what_somebody_issued_who_is_no_administrator_any_more_is_no_capability(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    house.toolbox.add("quick", lambda: "ran")
    boss = hired(house, "human://boss", Role.ADMIN)
    token = boss.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]}).token
    fired(house, boss)
    hired(house, "human://boss", Role.APPROVER)
    (answer,) = house.agent.propose(session, [tool_call("quick", token)]).results
    assert codes(answer) == ["BAD_CAPABILITY"]
    assert "human://boss" in answer.reasons[0].text
    house.check(session)


def test_a_call_does_not_begin_for_a_caller_who_may_not_propose_there_any_more(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    house.root.create_space("lab")
    session = house.agent.declare_session(["h1", "h2"], ONTOLOGY, space="lab").session_id
    hired(house, AGENT.id, Role.AGENT, "PRIVILEGE", None, "lab=propose")
    (made,) = house.run(house.store.tokens)

    async def move() -> None:
        await house.store.revoke_token(made.token_id, house.clock.now())
        await create_token(house.store, AGENT.id, Role.AGENT, Tier.PRIVILEGE, spaces=["default=propose"])

    house.toolbox.registry.tool("slow")(move)
    house.toolbox.add("quick", lambda: "ran")
    token = house.token(session)
    answer = house.agent.propose(session, [tool_call("slow", token), tool_call("quick", token)])
    assert codes(answer.results[1]) == ["REVOKED"]
    assert house.toolbox.count == 0
    house.check(session)
