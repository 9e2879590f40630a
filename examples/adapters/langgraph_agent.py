"""A graph of one's own behind beliefd: its node with tools is the only line that changes."""

from typing import Any

from langchain_agent import Scripted
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import tools_condition
from langgraph.types import Command
from scripted import Script, decided, fetch_page, play, send_email, show

from beliefd.adapters.langchain import BeliefdToolNode


def main() -> None:
    script = Script()
    model = Scripted(script=script)

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    # The one line: it was `ToolNode([fetch_page, send_email])`.
    tools = BeliefdToolNode([fetch_page, send_email])
    builder.add_node("tools", tools)
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    graph = builder.compile(checkpointer=InMemorySaver())

    thread: Any = {"configurable": {"thread_id": "minutes"}}
    result = graph.invoke({"messages": [("user", script.user)]}, thread)
    while waiting := result.get("__interrupt__"):
        for one in waiting:
            decided(one.value)
        result = graph.invoke(Command(resume={one.id: True for one in waiting}), thread)
    answer = tools.guard.conversation("minutes").gate_answer(result["messages"][-1].text, uncertainty=0.05)
    show("answer", answer.text)


if __name__ == "__main__":
    play(main)
