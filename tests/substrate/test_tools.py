"""What a policy says of tools, and arguments that must fit."""

from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.kernel.limits import LimitsPolicy
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, ToolWorld, codes, one, rules, tool_call, with_tools


def test_a_policy_raises_what_a_tool_says_of_itself_and_never_lowers_it(build: Build) -> None:
    given = rules(
        all=ALLOW_ALL,
        diary={"v": 1, "effect": "deny", "subject": {"capability": "diary"}, "on_fail": "defer"},
        tier={
            "v": 1,
            "effect": "deny",
            "subject": {"capability": "outside"},
            "when": {"op": "not", "args": [{"op": "eq", "args": ["call.tier", "MODIFY"]}]},
        },
    )
    named = {
        "note__read": {"mutates": True, "tier": "DELETE", "capabilities": ["diary"]},
        "email__send": {"mutates": False, "tier": "READ_ONLY"},
        "fs__read": {"net_args": ["path"]},
    }
    house = build(policy=with_tools(given, **named))
    session = house.session()
    token = house.token(session, fs_read_roots=["/"])

    def asked(tool: str, key: str | None = None, **args: Any) -> Any:
        return one(house.agent.propose(session, [tool_call(tool, token, key, **args)]))

    assert codes(asked("note.read")) == ["NO_IDEMPOTENCY_KEY"]
    waits = asked("note.read", "k1")
    assert (waits.on_fail, codes(waits)) == ("ask", ["NEEDS_PERSON", "DENIED"])
    assert codes(asked("email.send", to="ana")) == ["NO_IDEMPOTENCY_KEY"]
    assert asked("email.send", "k2", to="ana").verdict == "allow"
    assert codes(asked("fs.read", path="/x")) == ["OUT_OF_SCOPE"], "now its path is an address too"
    house.check(session)


@pytest.mark.parametrize("schema", [{"type": "thing"}, {"$ref": "http://127.0.0.1:1/x"}, {"pattern": "("}])
def test_a_schema_of_the_policy_that_is_none_lets_no_call_of_its_tool_through(
    build: Build, schema: dict[str, Any]
) -> None:
    house = build()
    # Nobody can adopt it now; an earlier version may have.
    house.steward.in_force.adopt(with_tools(rules(all=ALLOW_ALL), note__read={"schema": schema}))
    session = house.session()
    token = house.token(session)
    assert codes(one(house.agent.propose(session, [tool_call("note.read", token)]))) == ["BAD_ARGUMENTS"]
    assert one(house.agent.propose(session, [tool_call("calc.add", token, a=1, b=2)])).result == 3


def test_arguments_must_fit_the_schema_of_the_tool_and_of_the_policy(build: Build) -> None:
    small = {"schema": {"properties": {"a": {"maximum": 10}}}}
    house = build(policy=with_tools(rules(all=ALLOW_ALL), calc__add=small))
    session = house.session()
    token = house.token(session)

    def asked(**args: Any) -> Any:
        return one(house.agent.propose(session, [tool_call("calc.add", token, **args)]))

    assert asked(a=1, b=2).result == 3
    for args in (
        {},
        {"a": 1},
        {"a": "1", "b": 2},
        {"a": 1, "b": 2, "c": 3},
        {"a": True, "b": 2},
        {"a": 11, "b": 1},
    ):
        answer = asked(**args)
        assert set(codes(answer)) == {"BAD_ARGUMENTS"}, args
        assert answer.reasons[0].remedy
    assert house.toolbox.count == 1
    house.check(session)


def test_errors_about_huge_arguments_stay_short(build: Build) -> None:
    house = build(policy=replace(rules(all=ALLOW_ALL), limits=LimitsPolicy(command_bytes=2**24)))
    house.toolbox.add(
        "numbers", lambda items: 1, schema={"properties": {"items": {"items": {"type": "integer"}}}}
    )
    session = house.session()
    asked = tool_call("numbers", house.token(session), items=["x" * 10_000] * 500)
    answer = one(house.agent.propose(session, [asked]))
    assert 0 < len(answer.reasons) <= 20
    assert all(len(reason.text) <= 300 for reason in answer.reasons)


def test_an_unknown_tool_is_denied(house: ToolWorld) -> None:
    session = house.session()
    answer = one(house.agent.propose(session, [tool_call("nobody", house.token(session))]))
    assert codes(answer) == ["UNKNOWN_TOOL"]
