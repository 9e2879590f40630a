"""smolagents: a `ToolCallingAgent` each of whose calls is decided first.

It cannot wait: a call that a person must approve is refused with the approval's id, and runs when the model
makes it again afterwards. With `hold`, it is held for so many seconds first.
"""

import uuid
from typing import Any, Final

from beliefd.adapters.deciding import Guard
from beliefd.adapters.needing import needing

with needing("smolagents"):
    from smolagents import ToolCallingAgent

FINAL: Final = "final_answer"
MOST_NAMES: Final = 10


class BeliefdAgent(ToolCallingAgent):
    """`BeliefdAgent(tools=[...], model=..., guard=Guard("smolagents"))`.

    A conversation begins with a run that resets the agent's memory. With a key as `conversation`, all runs
    are that one, in whatever process.
    """

    def __init__(
        self, *args: Any, guard: Guard | None = None, conversation: str | None = None, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.guard = guard or Guard("smolagents")
        self._given = conversation
        self._key = conversation or uuid.uuid4().hex

    def run(self, task: str, *args: Any, **options: Any) -> Any:
        # `reset` is the third argument of all.
        if options.get("reset", args[1] if len(args) > 1 else True) and self._given is None:
            self._key = uuid.uuid4().hex
        self.guard.conversation(self._key).tell("user", task)
        return super().run(task, *args, **options)

    def execute_tool_call(self, tool_name: str, arguments: dict[str, str] | str) -> Any:
        if tool_name == FINAL:
            return super().execute_tool_call(tool_name, arguments)
        # What is judged is what will run: names of things in the agent's memory stand for those.
        meant = self._meant(arguments)
        talk = self.guard.conversation(self._key)
        decision = talk.decide(tool_name, meant if isinstance(meant, dict) else {"input": meant})
        if not decision.runs:
            return decision.words
        return talk.run(decision, lambda: super(BeliefdAgent, self).execute_tool_call(tool_name, meant))

    def _meant(self, arguments: dict[str, str] | str) -> dict[str, str] | str:
        for _ in range(MOST_NAMES):
            meant = self._substitute_state_variables(arguments)
            if meant == arguments:
                return arguments
            arguments = meant
        raise ValueError("these arguments are names that stand for each other without end")
