"""A LangChain agent behind beliefd; a call that waits for a person interrupts its graph."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from scripted import Script, decided, fetch_page, play, send_email, show

from beliefd.adapters.langchain import BeliefdMiddleware


class Scripted(BaseChatModel):
    """The model."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> "Scripted":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        turn = self.script.turn([one.text for one in messages if isinstance(one, ToolMessage)])
        calls = [
            {"name": one["tool"], "args": one["args"], "id": f"call-{self.script.number}-{place}"}
            for place, one in enumerate([turn, *turn.get("beside", [])] if "tool" in turn else [])
        ]
        message = AIMessage(turn.get("say", ""), tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def main() -> None:
    script = Script()
    # The ten lines.
    beliefd = BeliefdMiddleware()
    agent = create_agent(
        Scripted(script=script),
        [fetch_page, send_email],
        middleware=[beliefd],
        checkpointer=InMemorySaver(),
    )
    thread: Any = {"configurable": {"thread_id": "minutes"}}
    result = agent.invoke({"messages": [("user", script.user)]}, thread)
    while waiting := result.get("__interrupt__"):
        for one in waiting:
            decided(one.value)
        result = agent.invoke(Command(resume={one.id: True for one in waiting}), thread)
    answer = beliefd.guard.conversation("minutes").gate_answer(result["messages"][-1].text, uncertainty=0.05)
    show("answer", answer.text)


if __name__ == "__main__":
    play(main)
