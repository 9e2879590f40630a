"""What an approval of a change of belief binds."""

import msgspec

from beliefd.kernel.canonical import digest
from beliefd.kernel.intents.state import Change


def content_of(change: Change) -> str:
    """All that the change says."""
    return digest(msgspec.to_builtins(change))
