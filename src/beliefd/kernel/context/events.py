"""What can happen to context."""

from beliefd.kernel.context.state import ContextRecord
from beliefd.kernel.event import EventBase


class ContextAdded(EventBase, frozen=True, tag="context_added"):
    """Somebody whose word counts told what the agent knows, or that a call is about to be made."""

    item: ContextRecord


ContextEvent = ContextAdded
