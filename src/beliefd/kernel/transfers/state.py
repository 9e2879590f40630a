"""Where a session came from, if it began elsewhere."""

from typing import Annotated

import msgspec

from beliefd.kernel.parts import Part
from beliefd.kernel.values import Head, Value

MAX_SOURCE = 512
Source = Annotated[str, msgspec.Meta(max_length=MAX_SOURCE)]
"""Where a file came from, in the words of who imported it."""


class Foreign(Value, frozen=True):
    """All events up to `head` were written elsewhere. Who brought them says from where: `source`."""

    head: Head
    by: str
    at: str
    file_sha256: str
    source: str = ""


class Transfers(Part, frozen=True):
    """`taken_in` once an event of this ledger says so. Before, only the server's own ledger does."""

    foreign: Foreign | None = None
    taken_in: bool = False

    @property
    def is_due(self) -> bool:
        """Must the ledger say where it came from before anything else is decided in it?"""
        return self.foreign is not None and not self.taken_in
