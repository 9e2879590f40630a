"""A session as the facts about its calls see it: what it was told, what was begun, what was refused."""

from collections.abc import Mapping
from typing import Final

from beliefd.kernel.origin.calls import call_facts
from beliefd.kernel.origin.facts import CallFacts
from beliefd.kernel.origin.index import wanted
from beliefd.kernel.origin.memory import Memory
from beliefd.kernel.origin.tools import ToolInfo
from beliefd.kernel.values import Id, Object

MAX_REFUSED: Final = 10_000


class Session(Memory):
    """The index, and the facts about a call. Asking for `facts` changes nothing."""

    def facts(self, tool: ToolInfo, args: Object, catalogue: Mapping[Id, ToolInfo]) -> CallFacts:
        return call_facts(self, tool, args, catalogue)

    def allowed(self, facts: CallFacts) -> None:
        """The call begins: it counts from now on, before its result is told."""
        self.pending[facts.tool_id] = self.pending.get(facts.tool_id, 0) + 1
        self.use(facts.tool_id, [one.value for one in (*facts.sinks, *facts.objects)])

    def refused(self, facts: CallFacts) -> None:
        """Remember whom a refused call would have reached: the next call to them is no safer."""
        for sink in facts.sinks:
            one = wanted(sink.value, self.lexicon.month_of)
            if one and sink.trust != "trusted" and len(self.refused_sinks) < MAX_REFUSED:
                self.refused_sinks.add(one.key)
