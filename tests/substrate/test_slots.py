"""Places for tools: one caller does not take them all, and nothing holds one for longer than policy says."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.steward.effects import tools
from beliefd.testing.world import AGENT, policy
from beliefd.tools import slots
from beliefd.tools.registry import ToolResult
from tests.substrate.support import ALLOW_ALL, SUB_AGENT, ToolWorld, one, tool_call


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=200), st.integers(1, 20))
def test_whoever_holds_none_finds_a_place_while_there_is_one(
    story: list[tuple[str, bool]], places: int
) -> None:
    room, held = slots.Slots(places), dict.fromkeys("abc", 0)
    for who, takes in story:
        free = places - sum(held.values())
        if takes and held[who] < free:
            room.take(who)
            held[who] += 1
        elif takes:
            with pytest.raises(slots.Busy):
                room.take(who)
        elif held[who]:
            room.give_back(who)
            held[who] -= 1


def kinds(house: ToolWorld, stuck: threading.Event) -> tuple[str, ...]:
    """Three tools that hang: a function, a coroutine that is deaf, an executor of another kind."""

    async def deaf() -> None:
        while not stuck.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    async def execute(_: Any) -> ToolResult:
        await deaf()
        return ToolResult(None)

    house.toolbox.add("function", lambda: stuck.wait(60), timeout_ms=50)
    house.toolbox.registry.tool("coroutine", timeout_ms=50)(deaf)
    house.toolbox.registry.add("executor", ToolDefinition(timeout_ms=50), execute)
    return ("function", "coroutine", "executor")


@pytest.mark.parametrize("kind", [0, 1, 2], ids=["function", "coroutine", "executor"])
def test_seventy_hanging_calls_of_one_agent_leave_places_for_others(
    house: ToolWorld, kind: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "slots", slots.Slots())
    stuck = threading.Event()
    tool = kinds(house, stuck)[kind]
    session = house.session()
    token, other = house.token(session), house.token(session, SUB_AGENT)
    with ThreadPoolExecutor(10) as callers:
        asked = [callers.submit(house.agent.propose, session, [tool_call(tool, token)]) for _ in range(70)]
        states = [one(answer.result()).status for answer in asked]
    assert states.count("unknown") == slots.MAX_RUNNING // 2
    assert states.count("error") == 70 - slots.MAX_RUNNING // 2
    answer = one(house.helper.propose(session, [tool_call("note.read", other)]))
    assert answer.status == "ok", answer.error
    stuck.set()
    time.sleep(0.1)  # those that are deaf hear of it


def test_agents_of_one_owner_share_a_share(house: ToolWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "slots", slots.Slots(4))
    stuck = threading.Event()
    tool = kinds(house, stuck)[0]
    session = house.session()
    states = []
    for number in range(4):
        agent = replace(AGENT, id=f"agent://bot{number}", owner="ann")
        token = house.token(session, agent)
        states.append(one(house.person(agent).propose(session, [tool_call(tool, token)])).status)
    assert states == ["unknown", "unknown", "error", "error"]
    stuck.set()


def test_policy_bounds_how_long_any_call_may_take() -> None:
    stuck = threading.Event()
    given = policy(constraints={"constraint.all": ALLOW_ALL}, calls={"max_timeout_ms": 50})
    with ToolWorld(policy=given) as house:
        house.toolbox.add("hangs", lambda: stuck.wait(60), timeout_ms=3_600_000)
        session = house.session()
        answer = one(house.agent.propose(session, [tool_call("hangs", house.token(session))]))
        assert (answer.status, answer.error) == ("unknown", "no answer within 50 ms")
        stuck.set()


def test_a_call_takes_ten_minutes_at_most_unless_policy_says_otherwise() -> None:
    assert policy().max_timeout_ms == 600_000


def test_reading_a_long_answer_is_time_of_its_call_and_not_of_shared_threads(
    house: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it takes to read what a tool returned, nobody else waits for it."""
    stuck = threading.Event()
    monkeypatch.setattr(tools, "_recordable", lambda _: stuck.wait(60))
    house.toolbox.add("long", lambda: "x", timeout_ms=500)
    session = house.session()
    token = house.token(session)
    answer = one(house.agent.propose(session, [tool_call("long", token)]))
    assert answer.status == "unknown", "its time was up"
    assert [thread.name for thread in threading.enumerate()].count("beliefd-tool") == 1
    assert house.run(lambda: asyncio.to_thread(lambda: "free")) == "free"
    stuck.set()
