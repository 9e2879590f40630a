"""Explaining what a session holds: on its state, at an earlier event, and of decisions that are on record."""

from collections.abc import Iterator
from typing import Any

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.protocol.rights import Right, Rights
from beliefd.testing.world import AGENT, ENCODER, policy, refused
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, one, tool_call, when

LARGE = {"v": 2, "effect": "deny", "subject": {"tool_id": "calc.add"}, "when": when("gt", "call.args.a", 10)}
CLOSED = {
    "v": 1,
    "effect": "deny",
    "subject": {"tool_id": "calc.add"},
    "when": when("eq", "fact.gate.value", "closed"),
    "reason": "the gate is closed",
}


def rules(**constraints: Any) -> Policy:
    named = {f"constraint.{name}": value for name, value in constraints.items()}
    return policy(constraints={"constraint.all": ALLOW_ALL, **named})


@pytest.fixture
def world() -> Iterator[ToolWorld]:
    with ToolWorld() as opened:
        opened.root.adopt_policy(rules(closed=CLOSED))
        yield opened


def gate(world: ToolWorld, session: str, value: str) -> str:
    return world.encoder.propose(session, [delta(fact__gate=value)]).audit_event_id


def test_a_call_on_the_state_of_a_session_names_who_wrote_what_it_read(world: ToolWorld) -> None:
    session = world.session()
    gate(world, session, "open")
    event_id = gate(world, session, "closed")
    before = world.hash(session)
    told = world.agent.explain_policy(
        session_id=session, call={"tool_id": "calc.add", "args": {"a": 1, "b": 2}}
    )
    assert (told.verdict, told.reasons[0].text) == ("deny", "the gate is closed")
    (reading,) = told.deciding[0].reads
    assert (reading.path, reading.value, reading.key) == ("fact.gate.value", "closed", "fact.gate")
    assert reading.written
    assert (reading.written.by, reading.written.role) == (ENCODER.id, ENCODER.role)
    assert (reading.written.event_id, reading.written.seq) == (event_id, 3)
    assert told.remedy is not None
    assert [change.path for change in told.remedy.changes] == ["fact.gate.value"]
    assert world.hash(session) == before


def test_the_state_is_that_of_the_event_that_was_asked_for(world: ToolWorld) -> None:
    session = world.session()
    gate(world, session, "open")
    gate(world, session, "closed")
    question = {"tool_id": "calc.add", "args": {"a": 1, "b": 2}}
    verdicts = [
        world.agent.explain_policy(session_id=session, at=at, call=question).verdict for at in (1, 2, 3)
    ]
    assert verdicts == ["allow", "allow", "deny"]
    refused(Code.INVALID_REQUEST, lambda: world.agent.explain_policy(session_id=session, at=9, call=question))


def test_arguments_are_held_against_the_schema_of_a_registered_tool(world: ToolWorld) -> None:
    """The rule alone would take a text or nothing; the tool takes whole numbers."""
    world.root.adopt_policy(rules(large=LARGE))
    session = world.session()
    told = world.agent.explain_policy(
        session_id=session, call={"tool_id": "calc.add", "args": {"a": 11, "b": 2}}
    )
    assert told.remedy is not None
    assert [(change.path, change.then) for change in told.remedy.changes] == [("call.args.a", 10)]


def test_a_decision_on_record_is_explained_as_it_was_decided(world: ToolWorld) -> None:
    session = world.session()
    token = world.token(session)
    gate(world, session, "closed")
    asked = [tool_call("note.read", token), tool_call("calc.add", token, a=1, b=2)]
    answer = world.agent.propose(session, asked)
    world.root.adopt_policy(rules(large=LARGE))
    gate(world, session, "open")
    for number, result in enumerate(answer.results):
        told = world.agent.explain_policy(
            session_id=session, event_id=answer.audit_event_id, candidate=number
        )
        assert (told.verdict, told.reason_code) == (result.verdict, result.reason_code)
        assert told.reasons == result.reasons
        assert told.event_id == answer.audit_event_id
    assert [(other.which, other.verdict, other.differs) for other in told.under] == [
        ("in_force", "allow", True),
        ("defaults", "deny", True),
    ]
    world.check(session)


def test_the_policy_before_is_asked_too(world: ToolWorld) -> None:
    world.root.adopt_policy(rules(large=LARGE))
    session = world.session()
    gate(world, session, "closed")
    question = {"tool_id": "calc.add", "args": {"a": 1, "b": 2}}
    told = world.agent.explain_policy(session_id=session, call=question, against=rules())
    assert told.verdict == "allow"
    before, against = told.under
    assert (before.which, before.verdict, before.reason_code, before.differs) == (
        "before",
        "deny",
        "DENIED",
        True,
    )
    assert before.adopted_by == "human://root"
    assert (against.which, against.verdict, against.differs) == ("against", "allow", False)


def test_a_policy_that_is_given_is_asked_in_the_place_of_the_one_in_force(world: ToolWorld) -> None:
    told = world.agent.explain_policy(
        policy=rules(large=LARGE), call={"tool_id": "calc.add", "args": {"a": 11}}, state={}
    )
    assert told.deciding[0].constraint == "constraint.large"
    assert [other.which for other in told.under] == ["in_force"]


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({}, "$"),
        ({"call": {"tool_id": "t"}, "delta": {"set": {"goal.a": {"v": 1}}}}, "$"),
        ({"event_id": "e"}, "$"),
        ({"call": {"tool_id": "t"}, "at": 1}, "$"),
        ({"call": {"tool_id": "t"}, "candidate": -1}, "$.candidate"),
        (
            {"call": {"tool_id": "t"}, "policy": {"constraints": {"constraint.x": {}}}},
            "$.constraints.constraint.x.v",
        ),
    ],
)
def test_a_question_that_makes_no_sense_is_told_where(world: ToolWorld, asked: Any, path: str) -> None:
    error = refused(Code.INVALID_REQUEST, lambda: world.agent.explain_policy(**asked))
    assert error.details is not None
    assert error.details["path"] == path


def test_only_decisions_about_proposals_are_explained(world: ToolWorld) -> None:
    session = world.session()
    event_id = gate(world, session, "open")
    first = world.audit_trace(session).events[0]["event_id"]
    for name, candidate in ((first, 0), (event_id, 1), ("nobody", 0)):
        refused(
            Code.INVALID_REQUEST,
            lambda name=name, candidate=candidate: world.agent.explain_policy(  # type: ignore[misc]
                session_id=session, event_id=name, candidate=candidate
            ),
        )


def test_who_may_not_read_a_session_does_not_learn_that_it_is_there(world: ToolWorld) -> None:
    session = world.session()
    outside = world.person(AGENT, Rights({"elsewhere": frozenset({Right.READ})}))
    error = refused(
        Code.SESSION_NOT_FOUND,
        lambda: outside.explain_policy(session_id=session, call={"tool_id": "note.read"}),
    )
    absent = refused(
        Code.SESSION_NOT_FOUND,
        lambda: outside.explain_policy(session_id="nowhere", call={"tool_id": "note.read"}),
    )
    assert error.message.replace(session, "nowhere") == absent.message


def test_a_change_is_explained_on_the_state_of_its_session(world: ToolWorld) -> None:
    session = world.session()
    told = world.agent.explain_policy(session_id=session, delta={"set": {"fact.x": {"v": 1}}}, role="encoder")
    assert told.verdict == "allow"
    assert one(world.encoder.propose(session, [delta(fact__x=1)])).verdict == "allow"


def test_what_rules_derive_is_derived_anew_for_every_change(world: ToolWorld) -> None:
    late = {
        "v": 1,
        "when": when("eq", "fact.gate.value", "closed"),
        "derive": {"fact.shut": {"v": 1, "is": True}},
    }
    shut = {
        "v": 1,
        "effect": "deny",
        "subject": {"tool_id": "note.read"},
        "when": when("exists", "fact.shut"),
    }
    named = {"constraint.all": ALLOW_ALL, "constraint.shut": shut}
    world.root.adopt_policy(policy(constraints=named, rules={"rule.late": late}))
    session = world.session()
    gate(world, session, "closed")
    told = world.agent.explain_policy(session_id=session, call={"tool_id": "note.read"})
    assert told.verdict == "deny"
    assert told.remedy is not None
    assert [change.path for change in told.remedy.changes] == ["fact.gate.value"]


def test_a_what_if_does_not_ask_who_runs_the_tool(world: ToolWorld) -> None:
    elsewhere = {"mail.send": {"executor": "caller"}}
    world.root.adopt_policy(policy(constraints={"constraint.all": ALLOW_ALL}, tools=elsewhere))
    told = world.agent.explain_policy(session_id=world.session(), call={"tool_id": "mail.send", "args": {}})
    assert (told.verdict, told.reason_code) == ("allow", "ALLOWED")
