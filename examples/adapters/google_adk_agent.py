"""An agent of Google's ADK behind beliefd; a call that waits for a person asks for ADK's confirmation."""

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from scripted import Script, decided, fetch_page, play, send_email, show

from beliefd.adapters.google_adk import BeliefdPlugin


class Scripted(BaseLlm):
    """The model."""

    script: Any

    async def generate_content_async(
        self, asked: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in asked.contents for part in content.parts or ()]
        turn = self.script.turn([part.function_response.response for part in parts if part.function_response])
        if "tool" in turn:
            call = types.FunctionCall(name=turn["tool"], args=turn["args"], id=f"call-{self.script.number}")
            part = types.Part(function_call=call)
        else:
            part = types.Part(text=turn["say"])
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main() -> None:
    script = Script()
    # The ten lines.
    beliefd = BeliefdPlugin()
    agent = LlmAgent(
        name="assistant", model=Scripted(model="scripted", script=script), tools=[fetch_page, send_email]
    )
    runner = InMemoryRunner(agent=agent, app_name="mail", plugins=[beliefd])
    await runner.session_service.create_session(app_name="mail", user_id="u", session_id="minutes")
    message = types.Content(role="user", parts=[types.Part(text=script.user)])
    answer = ""
    while message is not None:
        asked, message = message, None
        async for event in runner.run_async(user_id="u", session_id="minutes", new_message=asked):
            for call in event.get_function_calls():
                if call.name == "adk_request_confirmation":
                    decided(call.args["toolConfirmation"]["payload"])
                    confirmed = types.FunctionResponse(
                        id=call.id, name=call.name, response={"confirmed": True}
                    )
                    message = types.Content(role="user", parts=[types.Part(function_response=confirmed)])
            texts = [part.text for part in (event.content and event.content.parts) or () if part.text]
            answer = " ".join(texts) or answer
    talk = beliefd.guard.conversation("mail:u:minutes")
    show("answer", talk.gate_answer(answer, uncertainty=0.05).text)


if __name__ == "__main__":
    play(main)
