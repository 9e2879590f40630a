"""How a change of what is believed is asked for."""

from beliefd.kernel.intents.state import Change
from beliefd.kernel.values import Id, Value


class StageIntent(Value, frozen=True, tag_field="verb", tag="STAGE_INTENT"):
    """Ask for a change of what is believed."""

    change: Change
    supersedes: Id | None = None


IntentCommand = StageIntent
