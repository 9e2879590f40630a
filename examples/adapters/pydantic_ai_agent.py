"""A Pydantic AI agent behind beliefd; a call that waits for a person ends the run with deferred requests."""

from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, FunctionToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from scripted import Script, decided, fetch_page, play, send_email, show

from beliefd.adapters.pydantic_ai import BeliefdToolset


def scripted(script: Script) -> FunctionModel:
    """The model."""

    def model(messages: Any, _: Any) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        turn = script.turn(
            [part.content for part in parts if part.part_kind in ("tool-return", "retry-prompt")]
        )
        if "tool" in turn:
            call = ToolCallPart(turn["tool"], turn["args"], tool_call_id=f"call-{script.number}")
            return ModelResponse(parts=[call])
        return ModelResponse(parts=[TextPart(turn["say"])])

    return FunctionModel(model)


def main() -> None:
    script = Script()
    # The ten lines.
    beliefd = BeliefdToolset(FunctionToolset([fetch_page, send_email]))
    agent: Any = Agent(scripted(script), toolsets=[beliefd], output_type=[str, DeferredToolRequests])
    result = agent.run_sync(script.user, conversation_id="minutes")
    while isinstance(result.output, DeferredToolRequests):
        answers = DeferredToolResults()
        for call in result.output.approvals:
            decided(result.output.metadata[call.tool_call_id])
            answers.approvals[call.tool_call_id] = True
        result = agent.run_sync(message_history=result.all_messages(), deferred_tool_results=answers)
    answer = beliefd.guard.conversation("minutes").gate_answer(result.output, uncertainty=0.05)
    show("answer", answer.text)


if __name__ == "__main__":
    play(main)
