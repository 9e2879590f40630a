"""CrewAI: tools that ask before they run.

It cannot wait: a call that a person must approve is refused with the approval's id, and runs when the model
makes it again afterwards. With `hold`, it is held for so many seconds first. CrewAI's own hooks are not used:
what fails in them lets the tool run, and one hook stands for several tries of a tool.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from beliefd.adapters.deciding import Conversation, Guard, no_turn
from beliefd.adapters.needing import needing
from beliefd.client.synchronous import Calls

with needing("crewai"):
    from crewai.tools import BaseTool

TOLD: Final = "Tool Description: "
"""What stands before a tool's own words in the description that CrewAI makes of them."""


class BeliefdTools(Guard):
    """`Agent(tools=beliefd.guarded(pay, mail))`, with the crew run inside `with beliefd.turn(key, text)`.

    The options are those of `Guard`.
    """

    def __init__(self, client: Calls | None = None, **options: Any) -> None:
        super().__init__("crewai", client, **options)

    def guarded(self, *tools: BaseTool) -> list[Any]:
        """The same tools, each of whose calls is decided first."""
        return [
            GuardedTool(
                name=tool.name,
                description=tool.description.rpartition(TOLD)[2],
                args_schema=tool.args_schema,
                result_as_answer=tool.result_as_answer,
                # INVARIANT: an answer out of a cache would be one that nobody has decided about.
                cache_function=_never,
                inner=tool,
                guard=self,
            )
            for tool in tools
        ]


class GuardedTool(BaseTool):
    """A tool that is decided about whenever it would run."""

    inner: Any
    guard: Any

    def _run(self, **args: Any) -> Any:
        talk: Conversation | None = self.guard.of_turn()
        decision = no_turn(self.name) if talk is None else talk.decide(self.name, args)
        if talk is None or not decision.runs:
            return decision.words
        return talk.run(decision, lambda: self.inner.run(**args))

    async def _arun(self, **args: Any) -> Any:
        talk: Conversation | None = self.guard.of_turn()
        decision = no_turn(self.name) if talk is None else await talk.adecide(self.name, args)
        if talk is None or not decision.runs:
            return decision.words
        return await talk.arun(decision, lambda: self._inner(args))

    async def _inner(self, args: Mapping[str, Any]) -> Any:
        try:
            return await self.inner.arun(**args)
        except NotImplementedError:  # it has no asynchronous form
            return await asyncio.to_thread(self.inner.run, **args)


def _never(_args: Any = None, _result: Any = None) -> bool:
    return False
