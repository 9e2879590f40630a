"""Observations through the library: values out of calls, JSON and CSV, and what they are worth to whom."""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.testing.world import AGENT, ANN, ENCODER, ONTOLOGY, ROOT, Person, World
from beliefd.tools.registry import Registry
from tests.firewall.data import WAITS, prediction

OTHER = Principal(id="agent://other", role=AGENT.role)
ANYTHING: dict[str, Any] = {"type": "object"}
RULES = Policy(constraints={"constraint.all": {"v": 1, "effect": "allow", "subject": None}})


def tools() -> Registry:
    registry = Registry()
    notes: dict[str, Any] = {}

    @registry.tool("pool.waits", schema=ANYTHING)
    def waits(**_: Any) -> dict[str, Any]:
        rows = [{"wait": {"ms": value}} for value in WAITS]
        return {"rows": rows, "waits": WAITS, "mean": 40.0, "note": "as measured", "flag": True}

    @registry.tool("echo", schema=ANYTHING)
    def echo(**said: Any) -> dict[str, Any]:
        return said

    @registry.tool("keep", schema=ANYTHING)
    def keep(**said: Any) -> None:
        notes.update(said)

    @registry.tool("kept", schema=ANYTHING)
    def kept(**_: Any) -> dict[str, Any]:
        return notes

    @registry.tool("dressed", schema=ANYTHING)
    def dressed(**said: Any) -> dict[str, Any]:
        return {**said, "note": "as measured"}

    @registry.tool("noisy", schema=ANYTHING)
    def noisy(number: int) -> dict[str, Any]:
        return {"waits": [value + number / 100 for value in WAITS]}

    @registry.tool("broken", schema=ANYTHING)
    def broken(**_: Any) -> None:
        raise RuntimeError("no")

    return registry


@pytest.fixture
def house() -> Iterator[World]:
    with World(policy=RULES, registry=tools()) as opened:
        yield opened


def opened(house: World) -> tuple[Person, str]:
    agent = house.person(AGENT)
    return agent, agent.declare_session(["disk_full", "pool_exhausted"], ONTOLOGY).session_id


def called(house: World, session_id: str, tool_id: str, who: Principal = AGENT, **args: Any) -> str:
    token = (
        house.person(ROOT)
        .issue_capability(
            session_id, agent_id=who.id, scope={"tools": ["*"], "budgets": {}}, expires_in_seconds=60
        )
        .token
    )
    candidate = {"kind": "tool_call", "tool_id": tool_id, "args": args, "capability_token": token}
    result = house.person(who).propose(session_id, [candidate]).results[0]
    assert result.call_id is not None, result
    return result.call_id


def refusal(agent: Person, session_id: str, **asked: Any) -> tuple[str, Any]:
    with pytest.raises(BeliefdError) as refused:
        agent.observe(session_id, quantity="wait", unit="ms", **asked)
    return refused.value.code.value, (refused.value.details or {}).get("path")


@pytest.mark.parametrize(
    ("asked", "values"),
    [
        ({"pointer": "/waits"}, WAITS),
        ({"pointer": "/rows", "each": "/wait/ms"}, WAITS),
        ({"pointer": "/mean"}, [40.0]),
    ],
)
def test_what_the_server_saw_a_call_return_is_witnessed(
    house: World, asked: dict[str, Any], values: list[float]
) -> None:
    agent, session_id = opened(house)
    call_id = called(house, session_id, "pool.waits")
    seen = agent.observe(session_id, quantity="wait", unit="ms", call_id=call_id, **asked)
    assert (seen.label, seen.witnesses, seen.values) == ("witnessed", ["server"], values)
    assert agent.show_observation(session_id, seen.observation_id).values == values
    assert agent.verify(session_id).ok


def test_a_tool_that_says_back_what_it_was_told_is_no_witness(house: World) -> None:
    agent, session_id = opened(house)
    call_id = called(house, session_id, "echo", waits=WAITS)
    seen = agent.observe(session_id, quantity="wait", unit="ms", call_id=call_id, pointer="/waits")
    assert (seen.label, seen.witnesses) == ("attested", [])
    assert "repeats what agents put in" in seen.where


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"pointer": "/nothing"}, "$.pointer"),
        ({"pointer": "/note"}, "$.pointer"),
        ({"pointer": "/flag"}, "$.pointer"),
        ({"pointer": ""}, "$.pointer"),
        ({"pointer": "/waits/60"}, "$.pointer"),
        ({"pointer": "/waits/3"}, "$.pointer"),
        ({"pointer": "/waits/03"}, "$.pointer"),
        ({"pointer": "/rows/3/wait/ms"}, "$.pointer"),
        ({"pointer": "/rows", "each": "/wait/s"}, "$.each"),
        ({"pointer": "/mean", "each": "/ms"}, "$.pointer"),
        ({"pointer": "/rows"}, "$.pointer"),
        ({"pointer": "/rows", "each": "/wait"}, "$.each"),
    ],
)
def test_a_pointer_that_leads_to_no_number_is_refused_with_what_is_there(
    house: World, asked: dict[str, Any], path: str
) -> None:
    agent, session_id = opened(house)
    call_id = called(house, session_id, "pool.waits")
    assert refusal(agent, session_id, call_id=call_id, **asked) == ("INVALID_REQUEST", path)


def test_numbers_that_went_through_another_tool_are_no_more_witnessed(house: World) -> None:
    agent, session_id = opened(house)
    called(house, session_id, "keep", waits=WAITS)
    call_id = called(house, session_id, "kept")
    seen = agent.observe(session_id, quantity="wait", unit="ms", call_id=call_id, pointer="/waits")
    assert seen.label == "attested"


def test_the_same_result_again_is_no_newer_than_it_was_first(house: World) -> None:
    agent, session_id = opened(house)
    called(house, session_id, "pool.waits")
    house.clock.advance(60)
    worded(house, session_id)
    house.clock.advance(60)
    call_id = called(house, session_id, "pool.waits")
    seen = agent.observe(session_id, quantity="wait", unit="ms", call_id=call_id, pointer="/waits")
    planned = agent.design_experiment(
        session_id, claim={"claim_id": "wait", "observed": [seen.observation_id]}
    )
    assert (planned.label, planned.worded_first) == ("witnessed", False)


def test_a_call_that_failed_or_belongs_elsewhere_has_no_result_here(house: World) -> None:
    agent, session_id = opened(house)
    broken = called(house, session_id, "broken")
    assert refusal(agent, session_id, call_id=broken) == ("CONFLICT", "$.call_id")
    _, other = opened(house)
    elsewhere = called(house, other, "pool.waits")
    assert refusal(agent, session_id, call_id=elsewhere, pointer="/waits") == ("NOT_FOUND", "$.call_id")


@pytest.mark.parametrize(
    ("brought", "label"), [((AGENT,), "attested"), ((ENCODER,), "witnessed"), ((AGENT, ANN), "witnessed")]
)
def test_stored_bytes_are_worth_what_those_make_them_who_brought_them(
    house: World, brought: tuple[Any, ...], label: str
) -> None:
    agent, session_id = opened(house)
    content = "host,wait\n" + "".join(f"db{n},{value}\n" for n, value in enumerate(WAITS)) + "db9,\n"
    for who in brought:
        house.person(who).store_content(content.encode())
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    seen = agent.observe(session_id, quantity="wait", unit="ms", content=sha256, column="wait")
    assert (seen.label, seen.values, seen.body) == (label, WAITS, sha256)
    as_json = house.person(brought[0]).store_content(msgspec.json.encode({"w": WAITS}))
    again = agent.observe(session_id, quantity="wait", unit="ms", content=as_json.sha256, pointer="/w")
    assert again.values == WAITS


@pytest.mark.parametrize(
    ("content", "asked", "path"),
    [
        (b"host,wait\na,1\n", {"column": "load"}, "$.column"),
        (b"wait,wait\n1,2\n", {"column": "wait"}, "$.column"),
        (b'{"wait": [1]}', {"column": "wait"}, "$.column"),
        (b"host,wait\na,much\n", {"column": "wait"}, "$.column"),
        (b"host,wait\na,nan\n", {"column": "wait"}, "$.column"),
        (b",".join(b"c%d" % n for n in range(3_000)) + b"\n1" * 6_000, {"column": "c0"}, "$.column"),
        (b"host,wait\na,\n", {"column": "wait"}, "$.column"),
        (b"\xff\xfe", {"column": "wait"}, "$.content"),
        (b"", {"column": "wait"}, "$.column"),
        (b"host,wait\n", {"pointer": "/wait"}, "$.content"),
        (b'{"a": 1, "a": 2}', {"pointer": "/a"}, "$.content"),
        (b'{"a": [1, null]}', {"pointer": "/a"}, "$.pointer"),
        (b'{"a": []}', {"pointer": "/a"}, "$.pointer"),
        (b"[" + b"1," * 5_000 + b"1]", {}, "$.pointer"),
        (b"x\n" + b"1\n" * 5_001, {"column": "x"}, "$.column"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_content_without_numbers_there_is_refused_and_on_record(
    house: World, content: bytes, asked: dict[str, Any], path: str
) -> None:
    agent, session_id = opened(house)
    sha256 = hashlib.sha256(content).hexdigest()
    if content:
        house.person(ENCODER).store_content(content)
    else:
        path = "$.content"
    before = len(agent.audit_trace(session_id).events)
    assert refusal(agent, session_id, content=sha256, **asked) == ("INVALID_REQUEST", path)
    assert len(agent.audit_trace(session_id).events) == before + 1
    assert agent.list_observations(session_id).observations == []


def worded(house: World, session_id: str, claim_id: str = "wait") -> None:
    agent, ann = house.person(AGENT), house.person(ANN)
    change = {"type": "create_proposition", "claim_id": claim_id, "statement": "a wait takes 40 ms"}
    staged = agent.stage_intent(session_id, {**change, "prediction": prediction()})
    ann.decide_approval(staged.approval_id or "", "APPROVED", content_hash=staged.content_hash or "")


def ran_on(house: World, session_id: str, observation_id: str, **more: Any) -> Any:
    agent = house.person(AGENT)
    claim = {"claim_id": "wait", "observed": [observation_id], **more}
    planned = agent.design_experiment(session_id, claim=claim)
    return agent.run_experiment(session_id, planned.experiment_id)
