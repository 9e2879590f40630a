"""What can happen to write intents."""

from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.event import EventBase
from beliefd.kernel.intents.state import Intent, Proposition


class IntentStaged(EventBase, frozen=True, tag="intent_staged"):
    """A change was asked for. Without an approval it was carried out, or failed, at once."""

    intent: Intent
    approval: Approval | None = None
    propositions: tuple[Proposition, ...] = ()
    superseded: Intent | None = None


IntentEvent = IntentStaged
