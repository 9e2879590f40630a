"""Calls that were let through: what they come to is written down, whatever that is."""

import asyncio
import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.substrate.events import Arbitrated, OutcomeRecorded
from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.steward.effects.tools import MAX_RESULT_BYTES
from beliefd.tools.registry import Registry, ToolResult
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, ToolWorld, codes, delta, one, rules, tool_call


def asked(house: ToolWorld, tool: str, key: str | None = None, **args: Any) -> tuple[str, Any]:
    session = house.session()
    token = house.token(session)
    return session, one(house.agent.propose(session, [tool_call(tool, token, key, **args)]))


def test_a_call_runs_once_and_after_the_decision_that_allows_it(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    seen: list[str] = []

    def look() -> str:
        seen.extend(type(event).__name__ for event in house.deltas(session))
        return "looked"

    house.toolbox.add("look", look)
    session = house.session()
    answer = one(house.agent.propose(session, [tool_call("look", house.token(session))]))
    assert (answer.verdict, answer.status, answer.result, answer.error) == ("allow", "ok", "looked", "")
    assert seen[-2:] == ["Arbitrated", "CallStarted"], "both decisions were in the ledger when the tool ran"
    decided, _, outcome = house.deltas(session)[-3:]
    assert isinstance(decided, Arbitrated)
    assert isinstance(outcome, OutcomeRecorded)
    assert decided.results[0].call is not None
    assert (outcome.call.call_id, outcome.call.status) == (decided.results[0].call.call_id, "ok")
    assert outcome.call.result_hash is not None
    assert house.toolbox.count == 1
    house.check(session)


def test_calls_of_one_proposal_run_in_order_and_only_those_that_are_allowed(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    token = house.token(session, tools=["calc.add", "note.read"])
    answer = house.agent.propose(
        session,
        [
            tool_call("calc.add", token, a=1, b=2),
            tool_call("email.send", token, "k", to="x"),
            tool_call("calc.add", token, a=3),
            delta(goal__x=1),
            tool_call("note.read", token),
            tool_call("nobody", token),
        ],
    )
    assert [result.verdict for result in answer.results] == [
        "allow",
        "deny",
        "deny",
        "allow",
        "allow",
        "deny",
    ]
    assert house.toolbox.ran == [("calc.add", {"a": 1, "b": 2}), ("note.read", {})]
    house.check(session)


def raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


RAISED: dict[str, tuple[BaseException, str]] = {
    "an error": (ValueError("no such file"), "ValueError: no such file"),
    "an error without words": (KeyError(), "KeyError: "),
    "an error that cannot be told": (Mute(), "Mute: (it cannot be told)"),
    "an error with half a character": (ValueError("\ud800"), "ValueError: ?"),
    "an endless error": (ValueError("x" * 100_000), "ValueError: " + "x" * 1_988),
    "an exit": (SystemExit(3), "RuntimeError: the tool raised SystemExit"),
    "an interrupt": (KeyboardInterrupt(), "RuntimeError: the tool raised KeyboardInterrupt"),
    "a cancellation": (asyncio.CancelledError(), "RuntimeError: the tool raised CancelledError"),
    "the end of an iteration": (StopIteration(), "RuntimeError: the tool raised StopIteration"),
    "its own time-out": (TimeoutError("slow"), "TimeoutError: slow"),
}


@pytest.mark.parametrize("raised", RAISED.values(), ids=RAISED.keys())
def test_whatever_a_function_raises_is_its_outcome(
    house: ToolWorld, raised: tuple[BaseException, str]
) -> None:
    house.toolbox.add("fails", raising(raised[0]))
    session, answer = asked(house, "fails")
    assert (answer.verdict, answer.status, answer.result) == ("allow", "error", None)
    assert answer.error == raised[1]
    assert house.toolbox.count == 1
    house.check(session)
    assert asked(house, "note.read")[1].status == "ok", "and nobody else notices"


@pytest.mark.parametrize(
    "error", [SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError(), ValueError("no")]
)
def test_whatever_a_coroutine_raises_is_its_outcome(house: ToolWorld, error: BaseException) -> None:
    async def fail() -> None:
        raise error

    house.toolbox.registry.tool("fails")(fail)
    session, answer = asked(house, "fails")
    assert answer.status == "error"
    house.check(session)
    assert asked(house, "note.read")[1].status == "ok"


def test_a_coroutine_is_a_tool_too(house: ToolWorld) -> None:
    async def later(n: int) -> ToolResult:
        await asyncio.sleep(0)
        return ToolResult(n + 1, tokens=5)

    house.toolbox.registry.tool("later")(later)
    assert asked(house, "later", n=1)[1].result == 2


def test_arguments_that_the_function_does_not_take_are_its_outcome(house: ToolWorld) -> None:
    session, answer = asked(house, "note.read", colour="red")
    assert answer.status == "error"
    assert "TypeError" in answer.error
    house.check(session)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def loop() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("odd")


UNRECORDED: dict[str, Callable[[], Any]] = {
    "an object": object,
    "an odd object": Odd,
    "NaN": lambda: float("nan"),
    "infinity": lambda: [float("inf")],
    "a number past 2^53": lambda: 2**53,
    "half a character": lambda: "\ud800",
    "keys that are no text": lambda: {1: 2},
    "itself": loop,
    "too deep": lambda: nested(63),
    "far too deep": lambda: nested(100_000),
    "too large": lambda: "x" * (MAX_RESULT_BYTES + 1),
    "a function": lambda: print,
    "a module": lambda: sys,
    "a generator": lambda: (number for number in range(3)),
}


@pytest.mark.parametrize("value", UNRECORDED.values(), ids=UNRECORDED.keys())
def test_a_result_that_cannot_be_recorded_is_described(house: ToolWorld, value: Callable[[], Any]) -> None:
    house.toolbox.add("gives", value)
    session, answer = asked(house, "gives")
    assert answer.status == "ok"
    assert set(answer.result) == {"unrecorded"}
    assert len(house.ledger(session)[-1]) < 5_000
    house.check(session)


@pytest.mark.parametrize(
    ("value", "recorded"),
    [
        (None, None),
        (nested(62), nested(62)),
        (1.0, 1),
        ((1, 2), [1, 2]),
        ({1}, [1]),
        (b"ab", "YWI="),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (ToolResult([1], tokens=1), [1]),
        ({"unrecorded": "honestly"}, {"unrecorded": "honestly"}),
    ],
    ids=str,
)
def test_a_result_is_recorded_as_json(house: ToolWorld, value: Any, recorded: Any) -> None:
    house.toolbox.add("gives", lambda: value)
    session, answer = asked(house, "gives")
    assert (answer.status, answer.result) == ("ok", recorded)
    house.check(session)


def test_what_a_tool_does_to_its_arguments_does_not_reach_the_state(house: ToolWorld) -> None:
    def spoil(items: list[int], more: dict[str, Any]) -> int:
        items.append(99)
        more.clear()
        return len(items)

    house.toolbox.add("spoil", spoil)
    session = house.session()
    token = house.token(session)
    given: dict[str, Any] = {"items": [1], "more": {"x": 1}}
    answer = one(house.agent.propose(session, [tool_call("spoil", token, **given)]))
    assert answer.result == 2
    assert given == {"items": [1], "more": {"x": 1}}
    assert house.state(session).substrate.calls[answer.call_id or ""].args == {"items": [1], "more": {"x": 1}}
    house.check(session)


def test_a_tool_that_changes_after_the_decision_does_not_run(tmp_path: Path) -> None:
    house = ToolWorld(tmp_path / "b.db", rules(all=ALLOW_ALL))
    session = house.session()
    house.toolbox.add("swap", lambda: "swapped")

    def swap() -> str:
        house.toolbox.registry._tools.pop("note.read")
        house.toolbox.add("note.read", lambda: "another note", description="another tool")
        return "swapped"

    house.toolbox.add("swaps", swap)
    token = house.token(session)
    answer = house.agent.propose(session, [tool_call("swaps", token), tool_call("note.read", token)])
    assert (answer.results[1].verdict, answer.results[1].status) == ("deny", "stopped")
    assert codes(answer.results[1]) == ["TOOL_CHANGED"]
    assert [name for name, _ in house.toolbox.ran] == ["swaps"]
    house.check(session)
    house.close()


def test_a_registry_takes_an_id_once_and_only_sound_definitions() -> None:
    registry = Registry()
    registry.tool("t")(lambda: None)
    with pytest.raises(ValueError, match="registered already"):
        registry.tool("t")(lambda: None)
    for bad in (
        {"schema": {"type": "thing"}},
        {"schema": {"$ref": "file:///etc/hostname"}},
        {"tier": "SMALL"},
        {"x": 1},
        {"timeout_ms": 0},
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            registry.tool("bad", **bad)(lambda: None)
    assert [tool.tool_id for tool in registry.all()] == ["t"]


def test_an_executor_of_another_kind_fits_the_port(house: ToolWorld) -> None:
    async def remote(call: Any) -> ToolResult:
        return ToolResult({"asked": call.tool_id, "with": call.args, "for": call.agent_id}, tokens=3)

    house.toolbox.registry.add("remote", ToolDefinition(), remote)
    assert asked(house, "remote", n=1)[1].result == {
        "asked": "remote",
        "with": {"n": 1},
        "for": "agent://writer",
    }


def test_a_broken_executor_is_an_outcome_too(house: ToolWorld) -> None:
    async def broken(_: Any) -> Any:
        return "not a ToolResult"

    house.toolbox.registry.add("broken", ToolDefinition(), broken)
    session, answer = asked(house, "broken")
    assert answer.status == "error"
    house.check(session)
