"""A crew of CrewAI behind beliefd; it cannot wait, so the model makes an approved call again."""

import json
from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool
from scripted import Script, fetch_page, play, send_email, show

from beliefd.adapters.crewai import BeliefdTools


class Scripted(BaseLLM):
    """The model."""

    script: Any = None

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        said = [one["content"] for one in messages if one["role"] == "assistant"]
        turn = self.script.turn([text.partition("Observation: ")[2] for text in said])
        if "tool" in turn:
            return f"Thought: go on\nAction: {turn['tool']}\nAction Input: {json.dumps(turn['args'])}"
        return f"Thought: I now know the final answer\nFinal Answer: {turn['say']}"

    def supports_function_calling(self) -> bool:
        return False


def main() -> None:
    script = Script()
    # The ten lines.
    beliefd = BeliefdTools()
    tools = beliefd.guarded(tool("fetch_page")(fetch_page), tool("send_email")(send_email))
    model = Scripted(model="scripted", script=script)
    agent = Agent(role="assistant", goal="help", backstory="an office", llm=model, tools=tools)
    crew = Crew(agents=[agent], tasks=[Task(description=script.user, expected_output="a word", agent=agent)])
    with beliefd.turn("minutes", script.user) as talk:
        text = crew.kickoff().raw
    show("answer", talk.gate_answer(text, uncertainty=0.05).text)


if __name__ == "__main__":
    play(main)
