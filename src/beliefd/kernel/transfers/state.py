"""Where a session came from, if it began elsewhere, and whether it is sealed."""

from typing import Annotated

import msgspec

from beliefd.kernel.parts import Part
from beliefd.kernel.values import Head, Value

MAX_SOURCE = 512
Source = Annotated[str, msgspec.Meta(max_length=MAX_SOURCE)]
"""Where a file came from, in the words of who imported it."""
Reason = Annotated[str, msgspec.Meta(max_length=MAX_SOURCE)]


class Foreign(Value, frozen=True):
    """All events up to `head` were written elsewhere. Who brought them says from where: `source`."""

    head: Head
    by: str
    at: str
    file_sha256: str
    source: str = ""


class Seal(Value, frozen=True):
    """By whom and when it was said that nothing more is to be written, and why."""

    by: str
    at: str
    reason: str


class Transfers(Part, frozen=True):
    """Empty in sessions that began here and are not sealed."""

    foreign: Foreign | None = None
    seal: Seal | None = None

    def holds(self, seq: int) -> bool:
        """Was this event written elsewhere?"""
        return self.foreign is not None and seq <= self.foreign.head.seq
