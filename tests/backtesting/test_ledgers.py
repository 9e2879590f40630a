"""Ledgers decided again: the policy that was in force changes nothing, another one just what it says."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import DEFAULT_SPACE, Role
from beliefd.ledger.transfer import read_export
from beliefd.policy.backtesting.steps import Line
from beliefd.policy.presets import preset
from beliefd.protocol.backtesting import Backtest, ChangedDecisions, Reached
from beliefd.steward.backtesting.exports import decide_exports
from beliefd.steward.backtesting.facts import OTHER_DETECTORS, OTHER_TOOL
from beliefd.steward.backtesting.ledgers import Trial
from beliefd.steward.backtesting.tally import Tally
from beliefd.testing.world import AGENT, policy, refused
from tests.claims.support import bundle, claim
from tests.context.support import GATEWAY, gateway, guard, wants
from tests.spaces.support import LAB, filled, with_rights
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, deny, one, rules, tool_call, when, with_tools

ROOT = Path(__file__).parents[2]
TOOLS: dict[str, Any] = {"mail": {"executor": "caller"}, "notes": {"executor": "caller"}}
BASE = with_tools(
    replace(
        rules(all=ALLOW_ALL, busy=deny("notes", when=when("eq", "fact.busy.value", 1))),
        firewall=policy().firewall,
    ),
    **TOOLS,
)


def stricter(**constraints: Any) -> Policy:
    """The same, with more constraints."""
    named = {f"constraint.{name}": rule for name, rule in constraints.items()}
    return replace(BASE, constraints={**BASE.constraints, **named})


def ask(house: ToolWorld, session: str, token: str, tool: str, **args: Any) -> Any:
    call = {"kind": "tool_call", "tool_id": tool, "args": args, "capability_token": token}
    return one(house.agent.propose(session, [call], execute="caller"))


@pytest.fixture
def house() -> Iterator[ToolWorld]:
    with ToolWorld(policy=BASE) as house:
        yield house


@pytest.fixture
def told(house: ToolWorld) -> str:
    """Mails to two people, a call that a fact stands in the way of, claims, and calls of the server."""
    session = house.session()
    token = house.token(session)
    for to in ("ann", "eve", "eve"):
        assert ask(house, session, token, "mail", to=to).verdict == "allow"
    assert one(house.encoder.propose(session, [delta(fact__busy=1)])).verdict == "allow"
    assert ask(house, session, token, "notes").verdict == "deny"
    assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"
    house.agent.submit_claims(session, bundle(claim()))
    house.agent.eliminate(session, source_id="s", observation_id="o", eliminated=["h1"], justification={})
    house.agent.propose(session, [tool_call("unheard.of", token)])
    return session


def changes(answer: Backtest) -> list[tuple[str | None, str, str, str | None, int]]:
    return [(one.tool, one.was, one.would_be, one.constraint, one.count) for one in answer.groups]


def only(answer: Backtest) -> ChangedDecisions:
    assert len(answer.groups) == 1, answer.groups
    return answer.groups[0]


def test_under_its_own_policy_nothing_changes(house: ToolWorld, told: str) -> None:
    answer = house.backtest_policy(BASE, [told])
    assert (answer.changed, answer.undecidable, answer.groups, answer.broken) == (0, 0, [], [])
    assert (answer.sessions, answer.next) == (1, None)
    assert answer.decisions == len(house.entries(told)) - 1


def test_a_stricter_policy_changes_what_it_says_and_shows_the_first(house: ToolWorld, told: str) -> None:
    answer = house.backtest_policy(
        stricter(eve=deny("mail", when=when("eq", "call.args.to", "eve"), on_fail="ask", reason="not to Eve"))
    )
    assert changes(answer) == [("mail", "allow", "ask", "constraint.eve", 2)]
    group = only(answer)
    assert (group.verb, group.principal, group.first.session_id) == ("PROPOSE", AGENT.id, told)
    assert group.first.args == {"to": "eve"}
    assert "not to Eve" in group.first.reasons[0]
    sealed = house.entries(told)[group.first.seq - 1]
    assert (sealed.event_id, json.loads(sealed.record)["payload"]["candidates"][0]["args"]) == (
        group.first.event_id,
        {"to": "eve"},
    )
    tools = {one.name: (one.decisions, one.changed) for one in answer.by_tool}
    assert tools == {"mail": (3, 2), "notes": (1, 0), "note.read": (2, 0), "unheard.of": (1, 0)}
    assert [(one.name, one.changed) for one in answer.by_principal if one.changed] == [(AGENT.id, 2)]
    assert len(house.entries(told)) == answer.decisions + 1  # nothing was written


def test_every_command_is_decided_on_the_state_that_was_recorded(house: ToolWorld, told: str) -> None:
    """What would have been refused happened all the same: what came after it is no other decision."""
    no_facts = {
        "v": 1,
        "effect": "deny",
        "subject": None,
        "when": when("all", when("eq", "call.tool_id", None), when("eq", "call.role", "encoder")),
    }
    answer = house.backtest_policy(stricter(nofacts=no_facts))
    assert changes(answer) == [(None, "allow", "deny", "constraint.nofacts", 1)]


def test_a_milder_policy_says_what_stood_in_the_way(house: ToolWorld, told: str) -> None:
    milder = replace(BASE, constraints={"constraint.all": ALLOW_ALL})
    assert changes(house.backtest_policy(milder)) == [("notes", "deny", "allow", "constraint.busy", 1)]


def test_parts_of_a_backtest_add_up_to_the_whole(house: ToolWorld, told: str) -> None:
    for _ in range(3):
        token = house.token(other := house.session())
        ask(house, other, token, "mail", to="eve")
    by = stricter(eve=deny("mail", when=when("eq", "call.args.to", "eve")))
    whole = house.backtest_policy(by)
    assert (whole.sessions, whole.changed) == (4, 5)
    for limit in (1, 2, 5):
        tally, after, parts = Tally(), None, 0
        while parts == 0 or after is not None:
            part = house.backtest_policy(by, limit=limit, after=after)
            assert part.decisions <= limit
            tally.add(part)
            after, parts = part.next, parts + 1
        assert parts > 1
        assert tally.answer(whole.policy_hash) == whole


def test_a_policy_that_cannot_be_adopted_is_refused(house: ToolWorld, told: str) -> None:
    wrong = replace(BASE, constraints={"constraint.x": {"v": 1, "effect": "perhaps"}})
    error = refused(Code.INVALID_REQUEST, lambda: house.backtest_policy(wrong))
    assert error.details == {"path": "$.policy.constraints.constraint.x.effect"}


def test_a_policy_that_reads_of_itself_finds_there_what_it_would_if_it_were_in_force(
    house: ToolWorld, told: str
) -> None:
    barred = {
        "hash": deny("mail", when=when("exists", "policy.hash")),
        "eco": deny("notes", when=when("eq", "policy.mode", "eco"), on_fail="ask"),
    }
    assert changes(house.backtest_policy(stricter(**barred))) == [
        ("mail", "allow", "deny", "constraint.hash", 3)
    ]
    in_normal = {"v": 1, "when": when("eq", "policy.mode", "normal"), "derive": {"fact.normal": {"v": 1}}}
    derived = replace(
        stricter(normal=deny("mail", when=when("exists", "fact.normal"))), rules={"rule.normal": in_normal}
    )
    assert changes(house.backtest_policy(derived)) == [("mail", "allow", "deny", "constraint.normal", 3)]


@pytest.mark.parametrize("path", ["policy.adopted_by", "policy.adopted_at"])
def test_who_adopted_a_policy_that_is_tried_is_not_known(house: ToolWorld, told: str, path: str) -> None:
    mine = deny("mail", when=when("missing", path))
    copied = {"v": 1, "when": when("exists", path), "derive": {"fact.mine": {"v": 1}}}
    on_writes = {
        "v": 1,
        "effect": "deny",
        "subject": {"capability": "write:fact"},
        "when": when("missing", path),
    }
    open_ = [("mail", "allow", "undecidable", "constraint.mine", 3)]
    assert changes(house.backtest_policy(stricter(mine=mine))) == open_
    derived = replace(
        stricter(mine=deny("mail", when=when("missing", "fact.mine"))), rules={"rule.a": copied}
    )
    assert changes(house.backtest_policy(derived)) == open_
    writing = house.backtest_policy(stricter(writing=on_writes))
    assert changes(writing) == [(None, "allow", "undecidable", "constraint.writing", 1)]
    assert "adopted by nobody" in only(writing).first.reasons[0]


def test_a_policy_that_reads_who_adopted_it_is_decided_again_as_it_was(house: ToolWorld) -> None:
    by = stricter(mine=deny("mail", when=when("eq", "policy.adopted_by", "human://root")))
    house.root.adopt_policy(by)
    session = house.session()
    assert ask(house, session, house.token(session), "mail", to="ann").verdict == "deny"
    answer = house.backtest_policy(by, [session])
    assert (answer.changed, answer.undecidable) == (0, 0)


# -- what the facts do not say -------------------------------------------------------------------------


def test_facts_that_were_not_found_out_then_leave_it_open(house: ToolWorld, told: str) -> None:
    answer = house.backtest_policy(
        replace(
            stricter(far=deny("mail", when=when("eq", "fact.call.sink_foreign", True))),
            context=guard().context,
        )
    )
    group = only(answer)
    assert (group.tool, group.would_be, group.constraint, group.count) == (
        "mail",
        "undecidable",
        "constraint.far",
        3,
    )
    assert "not found out" in group.first.reasons[0]
    assert (answer.changed, answer.undecidable) == (0, 3)


def test_what_is_refused_whatever_the_facts_say_is_decided(house: ToolWorld, told: str) -> None:
    by = replace(
        stricter(
            far=deny("mail", when=when("eq", "fact.call.sink_foreign", True)),
            eve=deny("mail", when=when("eq", "call.args.to", "eve")),
        ),
        context=guard().context,
    )
    assert changes(house.backtest_policy(by)) == [
        ("mail", "allow", "deny", "constraint.eve", 2),
        ("mail", "allow", "undecidable", "constraint.far", 1),
    ]


def test_facts_that_were_recorded_are_used() -> None:
    with ToolWorld(policy=guard()) as house:
        session = house.session()
        front = gateway(house)
        front.add_context(session, "user", "Send an email to anna@example.com")
        assert wants(front, session, "mail.send_email", to="anna@example.com").verdict == "allow"
        assert wants(front, session, "mail.send_email", to="eve@example.net").verdict == "defer"
        same = house.backtest_policy(guard())
        assert (same.changed, same.undecidable) == (0, 0)
        named = guard().constraints
        milder = {key: rule for key, rule in named.items() if not key.endswith(("sinks", "intent"))}
        answer = house.backtest_policy(replace(guard(), constraints=milder))
        assert changes(answer) == [("mail.send_email", "ask", "allow", "constraint.guard.04_sinks", 1)]
        other = house.backtest_policy(guard(own_addresses=("eve@example.net",)))
        assert {(one.principal, one.would_be) for one in other.groups} == {(GATEWAY.id, "undecidable")}


def test_what_policy_says_of_a_tool_is_worked_out_anew(house: ToolWorld, told: str) -> None:
    strict = {**TOOLS, "mail": {"executor": "caller", "schema": {"properties": {"to": {"const": "ann"}}}}}
    answer = house.backtest_policy(with_tools(BASE, **strict))
    assert changes(answer) == [("mail", "allow", "deny", "BAD_ARGUMENTS", 2)]
    fewer = house.backtest_policy(with_tools(BASE, notes=TOOLS["notes"]))
    assert changes(fewer) == [("mail", "allow", "deny", "UNKNOWN_TOOL", 3)]
    person = with_tools(BASE, **{**TOOLS, "mail": {"executor": "caller", "tier": "PRIVILEGE"}})
    assert changes(house.backtest_policy(person)) == [("mail", "allow", "ask", "tools_without_person", 3)]


def test_what_a_server_runs_is_tightened_if_it_was_not_before(house: ToolWorld, told: str) -> None:
    tightened = with_tools(BASE, **TOOLS, note__read={"tier": "PRIVILEGE"})
    answer = house.backtest_policy(tightened)
    assert {(one.verb, one.tool, one.was, one.would_be) for one in answer.groups} == {
        ("PROPOSE", "note.read", "allow", "ask"),
        ("START_CALL", "note.read", "allow", "ask"),
    }
    with ToolWorld(policy=tightened) as other:
        session = other.session()
        other.agent.propose(session, [tool_call("note.read", other.token(session))])
        group = only(other.backtest_policy(BASE))
        assert (group.would_be, group.first.reasons) == ("undecidable", [OTHER_TOOL])


def test_a_decision_about_a_tool_that_policy_now_declares_otherwise_is_left_open(house: ToolWorld) -> None:
    session = house.session()
    for place, tool in enumerate(("mail", "note.read")):
        decision = claim("READ_ONLY", "DECISION", action={"tool": tool})
        house.agent.submit_claims(session, bundle(decision, id=f"b{place}"))
    assert house.backtest_policy(BASE, [session]).undecidable == 0
    riskier = with_tools(BASE, **{**TOOLS, "mail": {"executor": "caller", "tier": "PRIVILEGE"}})
    group = only(house.backtest_policy(riskier, [session]))
    assert (group.would_be, group.first.reasons, group.count) == ("undecidable", [OTHER_TOOL], 1)


def test_a_token_that_was_not_looked_at_leaves_it_open(house: ToolWorld, told: str) -> None:
    answer = house.backtest_policy(with_tools(BASE, **TOOLS, unheard__of={"executor": "caller"}))
    group = only(answer)
    assert (group.tool, group.was, group.would_be) == ("unheard.of", "deny", "undecidable")


def test_claims_are_gated_again_unless_other_detectors_would_be_asked(house: ToolWorld, told: str) -> None:
    unsure = bundle(claim(value=0.5))
    session = house.session()
    house.agent.submit_claims(session, unsure)
    lax, strict = (policy(uncertainty={"explain_above": one, "defer_above": one}) for one in (0.9, 0.1))
    found = [
        house.backtest_policy(replace(BASE, uncertainty=one.uncertainty), [session]) for one in (lax, strict)
    ]
    assert sum(one.changed for one in found) >= 1
    assert sum(one.undecidable for one in found) == 0
    other = replace(BASE, adversarial=policy(adversarial={"detectors": ["other"]}).adversarial)
    group = only(house.backtest_policy(other, [session]))
    assert (group.verb, group.would_be, group.first.reasons) == (
        "SUBMIT_CLAIMS",
        "undecidable",
        [OTHER_DETECTORS],
    )


# -- who may see what, and what does not hold ----------------------------------------------------------


def test_only_sessions_that_one_may_see_are_decided_again(house: ToolWorld) -> None:
    house.root.create_space(LAB)
    own, foreign = filled(house, DEFAULT_SPACE, "albatross"), filled(house, LAB, "zanzibar")
    eve = house.person(*with_rights(Role.APPROVER, f"{DEFAULT_SPACE}=read"))
    answer = eve.backtest_policy(replace(BASE, constraints={}))
    assert answer.sessions == 1
    assert foreign.session_id not in msgspec.json.encode(answer).decode()
    for named in ([own.session_id, foreign.session_id], ["nowhere"], ["system"]):
        refused(Code.SESSION_NOT_FOUND, partial(eve.backtest_policy, BASE, named))
    foreign_place = Reached(session_id=foreign.session_id, seq=1)
    refused(Code.SESSION_NOT_FOUND, lambda: eve.backtest_policy(BASE, after=foreign_place))
    assert house.root.backtest_policy(BASE).sessions == 2


def exported(house: ToolWorld, session: str) -> list[bytes]:
    return house.export(session).splitlines(keepends=True)


def decided(lines: list[bytes], by: Policy) -> Backtest:
    trial, tally = Trial(by), Tally()
    decide_exports([Line(number, line) for number, line in enumerate(lines, 1)], trial, tally)
    return tally.answer(trial.name)


def test_an_exported_file_gives_the_same_answer(house: ToolWorld, told: str) -> None:
    by = stricter(eve=deny("mail", when=when("eq", "call.args.to", "eve")))
    assert decided(exported(house, told), by) == house.backtest_policy(by, [told])


def test_lines_that_were_written_elsewhere_count_as_well(house: ToolWorld, told: str) -> None:
    """Another program may have put other blanks between the members."""
    lines = exported(house, told)
    loose = [lines[0], *((json.dumps(json.loads(line)) + "\n").encode() for line in lines[1:])]
    by = stricter(eve=deny("mail", when=when("eq", "call.args.to", "eve")))
    assert decided(loose, by) == house.backtest_policy(by, [told])


def test_a_ledger_that_does_not_hold_ends_there_and_the_others_go_on(house: ToolWorld, told: str) -> None:
    lines = exported(house, told)
    forged = lines[:]
    forged[4] = forged[4].replace(b'"to":"eve"', b'"to":"ann"')
    assert forged != lines
    for broken in (forged, [*lines[:4], b"{torn\n", *lines[4:]], lines[:-1], [*lines[:3], *lines[4:]]):
        answer = decided([*broken, *lines], BASE)
        assert (answer.sessions, [one.session_id for one in answer.broken]) == (1, [told])


def test_the_ledger_of_the_first_release_is_decided_again_as_it_was() -> None:
    lines = (ROOT / "conformance" / "released-logs" / "0.1.0.jsonl").read_bytes().splitlines(keepends=True)
    read = read_export(lines)
    for name, by in read.header.policies.items():
        answer = decided(lines, by)
        assert (answer.sessions, answer.broken) == (1, [])
        changed = [read.entries[one.first.seq - 1] for one in answer.groups]
        assert name not in {json.loads(one.record)["policy_hash"] for one in changed}


def test_the_preset_decides_nothing_that_it_cannot_know(house: ToolWorld, told: str) -> None:
    """Where nothing was found out about calls, the guard lets none pass."""
    answer = house.backtest_policy(preset("guard"))
    passed = [one for one in answer.groups if one.tool is not None and one.would_be == "allow"]
    assert passed == []
    assert all(one.changed + one.undecidable == one.decisions for one in answer.by_tool if one.name == "mail")
