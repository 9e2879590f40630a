"""The published vectors through the naive reading, the compiled rules, the explanation, a session, the
command line and a server: they all say the same.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beliefd.cli.output import Exit
from beliefd.conformance.stories import Step
from beliefd.kernel.substrate.arbitration import propose
from beliefd.kernel.substrate.capabilities import Capability, Scope
from beliefd.kernel.substrate.constraints import (
    INVARIANTS,
    Action,
    Constraint,
    Judgement,
    judge,
    read_constraint,
)
from beliefd.kernel.substrate.events import Arbitrated
from beliefd.kernel.substrate.explaining import explain_call
from beliefd.kernel.substrate.paths import ABSENT, look_up
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.rulebook import KnownSchemas, rulebook
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.kernel.substrate.tools import CallFinding, ProposalFindings, ToolDefinition
from beliefd.ledger.chain import policy_hash
from beliefd.policy.compiling import problems
from tests.cli.runner import beliefd
from tests.conformance.surfaces import Http, Server
from tests.substrate.kernel import NOW, facts_of, session_with
from tests.substrate.support import call_candidate, proposal
from tests.substrate.vectors import CASES, Case

VERDICTS = {None: "allow", "block": "deny", "degrade": "deny", "ask": "defer", "defer": "defer"}
EXITS = {"allow": 0, "defer": 3, "deny": 4}


def definition(case: Case) -> ToolDefinition:
    return case.rules.tools.get(case.call["tool_id"], ToolDefinition())


def action(case: Case) -> Action:
    known = definition(case)
    context = {"tier": known.tier, "mutates": known.mutates, "now": NOW}
    return Action(case.call["tool_id"], known.capabilities, case.call["args"], context)


def said(judgement: Judgement) -> dict[str, Any]:
    return {"verdict": VERDICTS[judgement.on_fail], "on_fail": judgement.on_fail}


def expected(case: Case) -> dict[str, Any]:
    return {name: case.expect[name] for name in ("verdict", "on_fail")}


def constraints(case: Case) -> list[Constraint]:
    """What speaks of actions: everything but invariants that can be read."""
    schemas = KnownSchemas(case.rules)
    read = [read_constraint(key, raw, schemas) for key, raw in case.rules.constraints.items()]
    return [one for one in read if not one.key.startswith(INVARIANTS) or one.malformed is not None]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_naive_reading_says_what_the_table_says(case: Case) -> None:
    judgement = judge(constraints(case), case.state, action(case), KnownSchemas(case.rules).fit)
    assert said(judgement) == expected(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_compiled_rules_say_what_the_table_says(case: Case) -> None:
    compiled = rulebook(case.rules, policy_hash(case.rules))
    state = SymbolicState(case.state)
    assert said(state.truths(compiled).judge(state, action(case))) == expected(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_explanation_says_what_the_table_says_and_what_would_make_it_pass(case: Case) -> None:
    question = Question(tool_id=case.call["tool_id"], args=case.call["args"])
    found = explain_call(case.rules, policy_hash(case.rules), case.state, question)
    answer = {"verdict": found.verdict, "reason_code": found.reason_code, "on_fail": found.on_fail}
    assert answer == case.expect
    assert bool(found.reasons) == (found.verdict != "allow")
    for reason in found.reasons:
        assert reason.text
        assert reason.remedy
        assert (reason.constraint in case.rules.constraints) == (reason.code != "NO_ALLOW")
    assert (found.verdict != "allow") or found.allowed_by


@pytest.mark.parametrize("case", CASES, ids=str)
def test_arbitration_in_a_session_says_what_the_table_says(case: Case) -> None:
    facts = facts_of(case.rules, finding(case))
    session = session_with(
        symbolic_state=SymbolicState(case.state), capabilities={CAPABILITY.capability_id: CAPABILITY}
    )
    candidate = call_candidate(
        case.call["tool_id"], args=case.call["args"], capability_id=CAPABILITY.capability_id
    )
    event = propose(session, proposal(candidate), facts)
    assert isinstance(event, Arbitrated)
    (result,) = event.results
    answer = {"verdict": result.verdict, "reason_code": result.reason_code, "on_fail": result.on_fail}
    assert answer == case.expect
    assert (result.call is not None) == (result.verdict == "allow")
    assert (result.approval is not None) == (result.on_fail == "ask")


CAPABILITY = Capability(
    capability_id="cap-1",
    agent_id="agent://writer",
    scope=Scope(tools=("*",)),
    issued_at="2026-01-01T00:00:00.000000Z",
    expires_at="2027-01-01T00:00:00.000000Z",
    issued_by="human://root",
    secret_hash="0" * 64,
)


def finding(case: Case) -> ProposalFindings:
    known = CallFinding(definition=definition(case), definition_hash="d", capability_id="cap-1")
    return ProposalFindings(calls=(known,))


# The command line reads files: a sample keeps this within seconds.
@pytest.mark.parametrize("case", [*CASES[::9], *(one for one in CASES if "_" in one.name)], ids=str)
def test_the_command_line_says_what_the_table_says(case: Case, tmp_path: Path) -> None:
    given = {"policy": _document(case), "state": case.state, "call": case.call}
    for name, value in given.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    files = [word for name in given for word in (f"--{name}", tmp_path / f"{name}.json")]
    result = beliefd("policy", "explain", *files, "--json")
    answer = json.loads(result.stdout)
    if wrong := list(problems(case.rules)):
        # The kernel denies; people who try a file out are told that nobody can adopt it.
        assert answer["error"]["details"]["path"] == wrong[0].path
        assert result.exit_code == Exit.BAD_INPUT
        return
    assert {name: answer[name] for name in case.expect} == case.expect
    assert result.exit_code == EXITS[case.expect["verdict"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    opened = Server(tmp_path_factory.mktemp("tables") / "a")
    yield opened
    opened.close()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_server_says_what_the_table_says(case: Case, server: Server) -> None:
    given = {"policy": _document(case), "state": case.state, "call": case.call}
    step = Step("explain_policy", given, role="agent", tier="PRIVILEGE", if_match=None, key=None)
    status, answer = Http(server).call(step)
    if wrong := list(problems(case.rules)):
        assert (status, answer["error"]["details"]["path"]) == (400, wrong[0].path)
        return
    assert status == 200
    assert {name: answer[name] for name in case.expect} == case.expect


def _document(case: Case) -> dict[str, Any]:
    return {
        "constraints": case.rules.constraints,
        "schemas": case.rules.schemas,
        "tools": {"email.send": {"capabilities": ["outside"]}},
    }


def test_nobody_speaks_for_the_facts_of_a_call_by_a_longer_key() -> None:
    action = Action("mail", facts={"tier": "write"})
    written = {"fact.call.tier": {"v": 1}, "fact.call.sinks": {"v": 1}, "fact.caller": {"v": 1}}
    known = action.known(written)
    assert look_up(known, "fact.call.tier") == "write"
    assert look_up(known, "fact.call.sinks") is ABSENT
    assert look_up(known, "fact.caller") == {"v": 1}
    assert look_up(Action("mail").known(written), "fact.call.tier") == {"v": 1}  # where policy asks for none
