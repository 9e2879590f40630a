"""Pydantic AI: a toolset around other toolsets, each of whose calls is decided first.

What waits for a person ends the run with `DeferredToolRequests`. With `DeferredToolResults` the inbox is
asked again: an approval that stands there is the program's word, not a person's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from beliefd.adapters.deciding import Guard
from beliefd.adapters.needing import needing

with needing("pydantic-ai"):
    from pydantic_ai import ApprovalRequired, RunContext
    from pydantic_ai.toolsets import ToolsetTool, WrapperToolset


@dataclass
class BeliefdToolset(WrapperToolset[Any]):
    """`Agent(..., toolsets=[BeliefdToolset(toolset)], output_type=[str, DeferredToolRequests])`.

    A conversation is what Pydantic AI calls one: runs that go on with each other's messages.
    """

    guard: Guard = field(default_factory=lambda: Guard("pydantic-ai"))

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        talk = self.guard.conversation(str(ctx.conversation_id or ctx.run_id))
        await talk.atell("user", _text(ctx.prompt), f"prompt:{ctx.run_id}")
        decision = await talk.adecide(name, tool_args, ctx.tool_call_id)
        if decision.waits:
            raise ApprovalRequired(metadata=decision.card)
        if not decision.runs:
            return decision.words
        return await talk.arun(decision, lambda: self.wrapped.call_tool(name, tool_args, ctx, tool))


def _text(prompt: str | Sequence[Any] | None) -> str:
    if isinstance(prompt, str):
        return prompt
    return "\n".join(part for part in prompt or () if isinstance(part, str))
