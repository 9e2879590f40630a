"""LangChain and LangGraph: a middleware, or a node with tools, that every call of a tool goes through.

What waits for a person interrupts the graph, and `Command(resume=...)` has the inbox asked again: what it
says is no approval. Put it last, so that no other middleware changes what was judged.
"""

import asyncio
import uuid
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Annotated, Any, Final, TypeAlias

from beliefd.adapters.deciding import Conversation, Failed, Guard, no_turn
from beliefd.adapters.needing import needing
from beliefd.adapters.wanting import Decision
from beliefd.client.synchronous import Calls
from beliefd.kernel.canonical import digest

with needing("langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import PrivateStateAttr, ToolCallRequest
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langgraph.config import get_config
    from langgraph.prebuilt import ToolNode
    from langgraph.types import Command, interrupt


Answer: TypeAlias = ToolMessage | Command[Any]
OWN_KEY: Final = "beliefd_conversation"
MADE_BY_A_MODEL: Final = "lc_source"
"""Messages that stand for the user's but were written by a model, such as a summary, have it."""
MOST_KEPT: Final = 1_000


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
        return _through(self._conversation(request), request, handler, _messages(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        return await _athrough(self._conversation(request), request, handler, _messages(request))

    def _conversation(self, request: ToolCallRequest) -> Conversation:
        key = _thread() or request.state.get(OWN_KEY) or f"run:{uuid.uuid4().hex}"
        return self.guard.conversation(key)


class BeliefdToolNode(ToolNode):
    """`builder.add_node("tools", BeliefdToolNode(tools))` in a graph of your own; options are of `ToolNode`.

    A thread is a conversation. Without one, the first message is known by the id that LangGraph gave it.
    """

    def __init__(
        self,
        tools: Sequence[Any],
        guard: Guard | None = None,
        *,
        messages_key: str = "messages",
        **options: Any,
    ) -> None:
        self.guard = guard or Guard("langgraph")
        self._key = messages_key
        self._ran: OrderedDict[tuple[str, str], Answer] = OrderedDict()
        options |= {"wrap_tool_call": self._judged, "awrap_tool_call": self._ajudged}
        super().__init__(tools, messages_key=messages_key, **options)

    def _judged(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        messages = _messages(request, self._key)
        talk = self._heard(messages)
        if talk is None:
            return _refused(request, no_turn(request.tool_call["name"]))
        if (ran := self._ran.get(_use(talk, request))) is not None:
            return ran
        return _through(talk, request, lambda it: self._kept(talk, it, handler(it)), messages)

    async def _ajudged(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        messages = _messages(request, self._key)
        talk = await asyncio.to_thread(self._heard, messages)
        if talk is None:
            return _refused(request, no_turn(request.tool_call["name"]))
        if (ran := self._ran.get(_use(talk, request))) is not None:
            return ran

        async def kept(it: ToolCallRequest) -> Answer:
            return self._kept(talk, it, await handler(it))

        return await _athrough(talk, request, kept, messages)

    def _heard(self, messages: Sequence[Any]) -> Conversation | None:
        """Its conversation, which has been told what the user said so far."""
        key = _thread() or _made_id(messages)
        talk = self.guard.of_turn() if key is None else self.guard.conversation(key)
        if talk is not None:
            for name, text in _said_by_user(messages):
                talk.tell("user", text, name)
        return talk

    def _kept(self, talk: Conversation, request: ToolCallRequest, answer: Answer) -> Answer:
        """Where one call of several waits, the graph runs all of them again: what ran answers as it did."""
        self._ran[_use(talk, request)] = answer
        while len(self._ran) > MOST_KEPT:
            self._ran.popitem(last=False)
        return answer


def _through(
    talk: Conversation,
    request: ToolCallRequest,
    handler: Callable[[ToolCallRequest], Answer],
    messages: Sequence[Any],
) -> Answer:
    asked = _asked(request, messages)
    decision = talk.decide(*asked)
    while decision.waits:
        interrupt(decision.card)
        decision = talk.decide(*asked)
    if not decision.runs:
        return _refused(request, decision)
    return talk.run(decision, lambda: handler(request), _told)


async def _athrough(
    talk: Conversation,
    request: ToolCallRequest,
    handler: Callable[[ToolCallRequest], Awaitable[Answer]],
    messages: Sequence[Any],
) -> Answer:
    asked = _asked(request, messages)
    decision = await talk.adecide(*asked)
    while decision.waits:
        interrupt(decision.card)
        decision = await talk.adecide(*asked)
    if not decision.runs:
        return _refused(request, decision)
    return await talk.arun(decision, lambda: handler(request), _told)


def _use(talk: Conversation, request: ToolCallRequest) -> tuple[str, str]:
    call = request.tool_call
    return talk.key, digest([call["name"], call["args"], call["id"]])


def _made_id(messages: Sequence[Any]) -> str | None:
    """The first message's id if it is one that was drawn: others may be those of two conversations."""
    name = getattr(messages[0], "id", None) if messages else None
    try:
        return f"message:{uuid.UUID(name)}" if isinstance(name, str) else None
    except ValueError:
        return None


def _said_by_user(messages: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """What the user said so far, each under a name of its own. What has an author's name is an agent's."""
    seen: Counter[str] = Counter()
    for message in messages:
        if isinstance(message, HumanMessage) and not _is_of_model(message):
            text = str(message.text)
            seen[text] += 1
            yield f"said:{digest(text)}:{seen[text]}", text


def _is_of_model(message: Any) -> bool:
    """Agents that hand on to each other put their names on what they say."""
    return bool(message.name) or MADE_BY_A_MODEL in message.additional_kwargs


def _messages(request: ToolCallRequest, key: str = "messages") -> Sequence[Any]:
    state = request.state
    if isinstance(state, list):
        return state
    found = state.get(key) if isinstance(state, dict) else getattr(state, key, None)
    return found if isinstance(found, list) else ()


def _thread() -> str | None:
    thread = get_config().get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


def _said_last(messages: Sequence[Any]) -> list[Any]:
    """What the user has said since the model last spoke. What a model wrote is not the user's word."""
    found: list[Any] = []
    for message in reversed(messages):
        if not isinstance(message, HumanMessage):
            break
        if not _is_of_model(message):
            found.append(message)
    return found[::-1]


def _asked(request: ToolCallRequest, messages: Sequence[Any]) -> tuple[str, dict[str, Any], str | None, str]:
    call = request.tool_call
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
