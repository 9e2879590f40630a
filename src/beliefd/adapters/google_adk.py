"""Google ADK: a plugin that decides before every tool.

What waits for a person asks for ADK's own confirmation. Its answer has the inbox asked again: a `confirmed`
there is the program's word, not a person's.
"""

import asyncio
from typing import Any

from beliefd.adapters.deciding import WITHIN, Conversation, Guard
from beliefd.adapters.needing import needing
from beliefd.adapters.wanting import Decision
from beliefd.client.synchronous import Calls

with needing("google-adk"):
    from google.adk.plugins.base_plugin import BasePlugin

Running = tuple[Conversation, Decision, Conversation | None]
"""What runs, and the conversation that was under way before, if it runs inside another tool."""


class BeliefdPlugin(BasePlugin):
    """`Runner(..., plugins=[BeliefdPlugin()])`; the options are those of `Guard`.

    A session of ADK is a conversation. Put it last: no plugin after it can answer for a tool then.
    """

    def __init__(self, client: Calls | None = None, **options: Any) -> None:
        super().__init__(name="beliefd")
        self.guard = Guard("google-adk", client, **options)
        self._running: dict[str, Running] = {}

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> None:
        texts = [part.text for part in user_message.parts or () if part.text]
        talk = self._conversation(invocation_context.session)
        await talk.atell("user", "\n".join(texts), f"message:{invocation_context.invocation_id}")

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        confirmation = tool_context.tool_confirmation
        if confirmation is not None and not confirmation.confirmed:
            return {"error": "beliefd: the program did not go on with this call; it has not run"}
        talk = self._conversation(tool_context.session)
        decision = await talk.adecide(tool.name, tool_args, tool_context.function_call_id)
        if decision.runs:
            self._running[_place(tool_context)] = (talk, decision, WITHIN.get())
            WITHIN.set(talk)  # an agent that runs as this tool has the same context
            return None
        if decision.waits:
            tool_context.request_confirmation(hint=decision.words, payload=decision.card)
            tool_context.actions.skip_summarization = True
        return {"error": decision.words}

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> None:
        if (running := self._ended(tool_context)) is not None:
            talk, decision, _ = running
            await asyncio.shield(asyncio.to_thread(talk.ended, decision, result))

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: BaseException
    ) -> None:
        if (running := self._ended(tool_context)) is not None:
            talk, decision, _ = running
            await asyncio.shield(asyncio.to_thread(talk.failed, decision, error))

    def _ended(self, tool_context: Any) -> Running | None:
        running = self._running.pop(_place(tool_context), None)
        if running is not None:
            WITHIN.set(running[2])
        return running

    def _conversation(self, session: Any) -> Conversation:
        return self.guard.conversation(f"{session.app_name}:{session.user_id}:{session.id}")


def _place(tool_context: Any) -> str:
    return f"{tool_context.session.id}:{tool_context.function_call_id}"
