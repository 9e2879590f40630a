"""What a session was told: digests in their order, and who told each."""

import msgspec

from beliefd.kernel.context.commands import ContextKind
from beliefd.kernel.labels import Label
from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.values import Value


class ContextRecord(Value, frozen=True):
    """One thing that was told. Its text is under `content` beside the ledger, where it can be erased.

    A result without `content` stands in the event that `event_id` names, which recorded its call.
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


class Context(Part, frozen=True):
    """The context of a session. `items` are numbered from 1 in the order in which they came."""

    items: Growing[ContextRecord] = msgspec.field(default=EMPTY, name="context")

    def with_item(self, item: ContextRecord) -> "Context":
        return msgspec.structs.replace(self, items=self.items.insert(str(len(self.items) + 1), item))
