"""What a graph's messages say of its conversation and of its user, with LangGraph's own messages."""

import json
import subprocess
from typing import Any

import pytest

from clients.harness.install import framework_python

ASKS = """
import json, sys
from beliefd.adapters.langchain import _made_id, _said_by_user
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
said = {name: list(_said_by_user(messages)) for name, messages in (("plain", plain), ("again", again))}
json.dump({**said, "ids": ids, "merged": [_made_id(merged), _made_id(again)]}, sys.stdout)
"""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    done = subprocess.run(
        [str(framework_python("langchain")), "-c", ASKS],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_has_a_name_or_was_written_by_a_model_is_not_the_users_word(told: dict[str, Any]) -> None:
    assert [text for _, text in told["plain"]] == ["send it", "send it", "thanks"]


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
