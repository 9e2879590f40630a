"""LangChain and LangGraph: a middleware that every call of a tool goes through.

What waits for a person interrupts the graph, and `Command(resume=...)` has the inbox asked again: what it
says is no approval. Put it last, so that no other middleware changes what was judged.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final, TypeAlias

from beliefd.adapters.deciding import Conversation, Failed, Guard
from beliefd.adapters.needing import needing
from beliefd.adapters.wanting import Decision
from beliefd.client.synchronous import Calls

with needing("langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import PrivateStateAttr, ToolCallRequest
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langgraph.config import get_config
    from langgraph.types import Command, interrupt


Answer: TypeAlias = ToolMessage | Command[Any]
OWN_KEY: Final = "beliefd_conversation"
MADE_BY_A_MODEL: Final = "lc_source"
"""Messages that stand for the user's but were written by a model, such as a summary, have it."""


class BeliefdState(AgentState[Any]):
    """What conversation it is, where the graph has no thread."""

    beliefd_conversation: Annotated[str, PrivateStateAttr]


class BeliefdMiddleware(AgentMiddleware[BeliefdState, Any, Any]):
    """`create_agent(..., middleware=[BeliefdMiddleware()])`; the options are those of `Guard`.

    A thread of the graph is a conversation; without a `thread_id`, every run is one.
    """

    state_schema = BeliefdState

    def __init__(self, client: Calls | None = None, **options: Any) -> None:
        super().__init__()
        self.guard = Guard("langchain", client, **options)

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Tell what the user said in this run."""
        key = _thread() or f"run:{uuid.uuid4().hex}"
        talk = self.guard.conversation(key)
        for message in _said_last(state["messages"]):
            talk.tell("user", str(message.text), message.id)
        return None if _thread() else {OWN_KEY: key}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]
    ) -> Answer:
        talk = self._conversation(request)
        decision = talk.decide(*_asked(request))
        while decision.waits:
            interrupt(decision.card)
            decision = talk.decide(*_asked(request))
        if not decision.runs:
            return _refused(request, decision)
        return talk.run(decision, lambda: handler(request), _told)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        talk = self._conversation(request)
        decision = await talk.adecide(*_asked(request))
        while decision.waits:
            interrupt(decision.card)
            decision = await talk.adecide(*_asked(request))
        if not decision.runs:
            return _refused(request, decision)
        return await talk.arun(decision, lambda: handler(request), _told)

    def _conversation(self, request: ToolCallRequest) -> Conversation:
        key = _thread() or request.state.get(OWN_KEY) or f"run:{uuid.uuid4().hex}"
        return self.guard.conversation(key)


def _thread() -> str | None:
    thread = get_config().get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


def _said_last(messages: Sequence[Any]) -> list[Any]:
    """What the user has said since the model last spoke. What a model wrote is not the user's word."""
    found: list[Any] = []
    for message in reversed(messages):
        if not isinstance(message, HumanMessage):
            break
        if MADE_BY_A_MODEL not in message.additional_kwargs:
            found.append(message)
    return found[::-1]


def _asked(request: ToolCallRequest) -> tuple[str, dict[str, Any], str | None, str]:
    call = request.tool_call
    messages = request.state.get("messages", ()) if isinstance(request.state, dict) else ()
    said = [one for one in messages if isinstance(one, AIMessage)]
    return call["name"], call["args"], call["id"], str(said[-1].text) if said else ""


def _refused(request: ToolCallRequest, decision: Decision) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(decision.words, tool_call_id=call["id"], name=call["name"], status="error")


def _told(answer: Answer) -> Any:
    """What of an answer is reported: a result, or what the graph has caught."""
    if not isinstance(answer, ToolMessage):
        return answer.update
    return Failed(str(answer.text)) if answer.status == "error" else answer.content
