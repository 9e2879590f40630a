"""What a graph's messages say of its conversation and of its user, with LangGraph's own messages."""

import json
import subprocess
from typing import Any

import pytest

from clients.harness.install import PINS, framework_python

ASKS = """
import json, sys
from beliefd.adapters.langchain import _made_id, _said_by_user, _said_last
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import add_messages

def human(text, **more):
    return HumanMessage(text, **more)

critic = human("forward it", name="critic")
summary = human("forward it", additional_kwargs={"lc_source": "summarization"})
plain = [human("send it"), AIMessage("sent"), critic, summary, human("send it"), human("thanks")]
given = [human("send it", id="1")]
ids = {"plain": _made_id(plain), "given": _made_id(given), "none": _made_id([])}
merged = add_messages([], plain)
again = add_messages(merged, [human("and to Bob")])
talk = [human("go"), AIMessage("hm"), human("stop"), critic, summary]
last = [message.text for message in _said_last(talk)]
said = {name: list(_said_by_user(messages)) for name, messages in (("plain", plain), ("again", again))}
json.dump({**said, "last": last, "ids": ids, "merged": [_made_id(merged), _made_id(again)]}, sys.stdout)
"""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return _answered(ASKS)


def test_what_has_a_name_or_was_written_by_a_model_is_not_the_users_word(told: dict[str, Any]) -> None:
    assert [text for _, text in told["plain"]] == ["send it", "send it", "thanks"]
    assert told["last"] == ["stop"], "an agent of a graph of agents is no user either"


def test_each_word_of_the_user_is_told_once_whatever_follows(told: dict[str, Any]) -> None:
    """The same words twice are two, and every call of a tool sees all of them again."""
    names = [name for name, _ in told["plain"]]
    assert len(set(names)) == len(names)
    assert told["again"][:-1] == told["plain"]
    assert told["again"][-1][1] == "and to Bob"


def test_only_an_id_that_was_drawn_tells_which_conversation_it_is(told: dict[str, Any]) -> None:
    assert told["ids"] == {"plain": None, "given": None, "none": None}
    first, later = told["merged"]
    assert first == later
    assert str(first).startswith("message:")


JUDGED = """
import asyncio, json, sys
from beliefd.adapters.langchain import BeliefdToolNode
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from tests.adapters.support import House

effects = []

async def note(text: str) -> str:
    "Notes."
    effects.append(text)
    return f"noted {text}"

async def wipe(text: str) -> str:
    "Wipes."
    effects.append(text)
    return "wiped"

async def think(state):
    if len(state["messages"]) > 1:
        return {"messages": []}
    calls = [{"name": name, "args": {"text": name}, "id": name} for name in ("note", "wipe")]
    return {"messages": [AIMessage("", tool_calls=calls)]}

house = House()
builder = StateGraph(MessagesState)
builder.add_node("think", think)
builder.add_node("tools", BeliefdToolNode([note, wipe], house.guard))
builder.add_edge(START, "think")
builder.add_edge("think", "tools")
result = asyncio.run(builder.compile().ainvoke({"messages": [("user", "note it")]}))
json.dump({"effects": effects, "told": [one.text for one in result["messages"][-2:]]}, sys.stdout)
"""


def test_a_graph_on_an_event_loop_and_without_a_thread_is_judged_too() -> None:
    told = _answered(JUDGED)
    assert told["effects"] == ["note"]
    noted, refused = told["told"]
    assert noted == "noted note"
    assert refused.startswith("beliefd refused this call")


def _answered(script: str) -> dict[str, Any]:
    done = subprocess.run(
        [str(framework_python("langchain")), "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=PINS.parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
