"""An agent of the OpenAI Agents SDK behind beliefd; a call that waits is one of its interruptions."""

import json
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from scripted import Script, decided, fetch_page, play, send_email, show

from beliefd.adapters.openai_agents import BeliefdTools


class Scripted(Model):
    """The model."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def get_response(self, *_: Any, **asked: Any) -> ModelResponse:
        items = asked["input"] if isinstance(asked["input"], list) else []
        heard = [item["output"] for item in items if "output" in item]
        turn = self._script.turn(heard)
        if "tool" in turn:
            made: Any = ResponseFunctionToolCall(
                name=turn["tool"],
                arguments=json.dumps(turn["args"]),
                call_id=f"call-{self._script.number}",
                type="function_call",
            )
        else:
            text = ResponseOutputText(text=turn["say"], type="output_text", annotations=[])
            made = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[made], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    script = Script()
    # The ten lines.
    beliefd = BeliefdTools()
    tools = beliefd.guarded(function_tool(fetch_page), function_tool(send_email))
    agent = Agent(name="assistant", model=Scripted(script), tools=tools)
    quiet = RunConfig(tracing_disabled=True)
    with beliefd.turn("minutes", script.user) as talk:
        result = await Runner.run(agent, script.user, run_config=quiet)
        while result.interruptions:
            state = result.to_state()
            for item, card in zip(result.interruptions, beliefd.cards(result.interruptions), strict=True):
                decided(card)
                state.approve(item)
            result = await Runner.run(agent, state, run_config=quiet)
    show("answer", talk.gate_answer(result.final_output, uncertainty=0.05).text)


if __name__ == "__main__":
    play(main)
