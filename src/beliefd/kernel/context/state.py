"""What a session was told: digests in their order, and who told each."""

from collections.abc import Iterable

import msgspec

from beliefd.kernel.context.commands import ContextKind
from beliefd.kernel.labels import Label
from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.values import Value


class ContextRecord(Value, frozen=True):
    """One thing that was told. Its text is under `content` beside the ledger, where it can be erased.

    A result without `content` stands in the event that `event_id` names, which recorded its call. It is
    `vouched` for by the server or by whom policy names; if not, it is a text that anybody could have written.
    """

    context_id: str
    event_id: str
    kind: ContextKind
    label: Label
    told_by: str
    content: str | None = None
    size: int = 0
    tool_id: str | None = None
    call_id: str | None = None
    join_key: str | None = None
    error: bool = False
    vouched: bool = True


class Context(Part, frozen=True):
    """The context of a session. `items` are numbered from 1 in the order in which they came.

    `begun` is how many calls of a tool were let through. `refused_sinks` are the addresses that a refused
    call would have reached, each with the content that a person was asked about, if one was.
    """

    items: Growing[ContextRecord] = msgspec.field(default=EMPTY, name="context")
    begun: Growing[int] = EMPTY
    refused_sinks: Growing[str] = EMPTY

    def with_item(self, item: ContextRecord) -> "Context":
        return msgspec.structs.replace(self, items=self.items.insert(str(len(self.items) + 1), item))

    def with_begun(self, tool_id: str, more: int = 1) -> "Context":
        count = max(0, self.begun.get(tool_id, 0) + more)
        return msgspec.structs.replace(self, begun=self.begun.insert(tool_id, count))

    def with_refused(self, sinks: Iterable[str], asked: str) -> "Context":
        held = self.refused_sinks
        for one in sinks:
            held = held.insert(one, asked)
        return msgspec.structs.replace(self, refused_sinks=held)

    def with_answered(self, asked: str) -> "Context":
        """A person has said yes: those whom only that question was about are refused no more."""
        answered = [one for one, content in self.refused_sinks.items() if content == asked]
        held = self.refused_sinks
        for one in answered:
            held = held.remove(one)
        return msgspec.structs.replace(self, refused_sinks=held) if answered else self
