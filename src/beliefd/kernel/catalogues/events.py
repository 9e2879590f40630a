"""What can happen to a catalogue."""

from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.catalogues.state import Pinned
from beliefd.kernel.event import EventBase
from beliefd.kernel.values import Value


class Offer(Value, frozen=True):
    """A definition that a person is asked about."""

    name: str
    hash: str
    approval: Approval


class ToolsPinned(EventBase, frozen=True, tag="tools_pinned"):
    """What was seen first is pinned, what is offered otherwise waits; `restored` is as pinned again."""

    event_id: str
    pinned: tuple[Pinned, ...] = ()
    offers: tuple[Offer, ...] = ()
    restored: tuple[str, ...] = ()


CatalogueEvent = ToolsPinned
