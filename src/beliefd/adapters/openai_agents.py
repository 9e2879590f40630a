"""OpenAI Agents SDK: function tools that ask before they run.

What waits for a person is in `result.interruptions`. After `state.approve(...)` the inbox is asked again:
that approval is the program's word, not a person's.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from beliefd.adapters.deciding import Conversation, Guard, no_turn
from beliefd.adapters.needing import needing
from beliefd.adapters.wanting import Decision
from beliefd.client.synchronous import Calls

with needing("openai-agents"):
    from agents import FunctionTool, RunContextWrapper
    from agents.items import ToolApprovalItem
    from agents.tool import with_function_tool_failure_error_handler
    from agents.tool_context import ToolContext


class BeliefdTools(Guard):
    """`Agent(tools=beliefd.guarded(pay, mail))`, run inside `with beliefd.turn(key, text)`.

    The options are those of `Guard`.
    """

    def __init__(self, client: Calls | None = None, **options: Any) -> None:
        super().__init__("openai-agents", client, **options)
        self._decided: dict[tuple[str, str], Decision] = {}

    @contextmanager
    def turn(self, key: str, user: str = "") -> Iterator[Conversation]:
        """As in `Guard`. At its end, leave that was given and not used is given back."""
        with super().turn(key, user) as talk:
            try:
                yield talk
            finally:
                for place in [place for place in self._decided if place[0] == talk.key]:
                    talk.drop(self._decided.pop(place))

    def guarded(self, *tools: FunctionTool) -> list[Any]:
        """The same tools, each of whose calls is decided first."""
        return [self._guarded(tool) for tool in tools]

    def cards(self, interruptions: Iterable[ToolApprovalItem]) -> list[dict[str, Any]]:
        """What waits, why, and where it is decided."""
        found = [self._decided.get((self._key(), str(item.call_id))) for item in interruptions]
        return [decision.card for decision in found if decision is not None]

    def _key(self) -> str:
        talk = self.of_turn()
        return "" if talk is None else talk.key

    def _guarded(self, tool: FunctionTool) -> FunctionTool:
        # What it raises must arrive here; the copy that the agent gets tells the model, as the tool says.
        bare = replace(tool, _failure_error_function=None, _use_default_failure_error_function=False)

        async def asks(context: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> bool:
            return (await self._decide(tool.name, args, call_id)).waits

        async def invoke(context: ToolContext[Any], written: str) -> Any:
            decision = await self._decide(tool.name, _read(written), context.tool_call_id)
            self._decided.pop((self._key(), context.tool_call_id), None)
            talk = self.of_turn()
            if not decision.runs or talk is None:
                return decision.words
            return await talk.arun(decision, lambda: bare.on_invoke_tool(context, written))

        on_invoke = with_function_tool_failure_error_handler(invoke, lambda *_: None)
        return replace(tool, needs_approval=asks, on_invoke_tool=on_invoke)

    async def _decide(self, tool_id: str, args: Any, call_id: str) -> Decision:
        """Decided once per call: a permit is given when it is asked for, and kept until the call runs."""
        talk: Conversation | None = self.of_turn()
        if talk is None:
            return no_turn(tool_id)
        place = (talk.key, call_id)
        decision = self._decided.get(place)
        if decision is None or decision.waits:
            decision = self._decided[place] = await talk.adecide(tool_id, args, call_id)
        return decision


def _read(written: str) -> Any:
    """Arguments as the model wrote them; what is no object is refused when it is decided."""
    try:
        return json.loads(written or "{}")
    except ValueError:
        return None
