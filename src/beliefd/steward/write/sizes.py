"""How large states are, as they would be saved, and whose commands made them so."""

import time
from collections import Counter, OrderedDict
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.event import Refused
from beliefd.steward.offload import HEAVY_BYTES
from beliefd.steward.write.room import VERBS_THAT_FILL
from beliefd.stores.base import Store

AGAIN_SECONDS: Final = 10.0
"""So often a state is weighed again that may have become smaller."""
MAX_REMEMBERED: Final = 10_000
"""Sizes of states that are not in memory any more, and counts of who wrote them."""


class Size(Struct, frozen=True):
    """At most so many `bytes`: what it had when it was weighed, and the records written since."""

    bytes: int
    weighed: int | None = None
    at: float = 0.0

    def grown(self, by: int) -> "Size":
        return replace(self, bytes=self.bytes + by)

    def is_stale(self, slack: int) -> bool:
        """Does it have to be weighed before anybody is turned away for it?"""
        if self.weighed is None or self.bytes - self.weighed > slack:
            return True
        return self.bytes != self.weighed and time.monotonic() - self.at > AGAIN_SECONDS


def weighed(size: int) -> Size:
    return Size(size, size, time.monotonic())


class Sizes:
    """Sizes of the states in memory, of all of them together, and of large ones that were there."""

    def __init__(self) -> None:
        self._here: dict[str, Size] = {}
        self._gone: OrderedDict[str, Size] = OrderedDict()
        self.bytes = 0

    def of(self, session_id: str) -> Size | None:
        """INVARIANT: what was dropped from memory is as large as it was."""
        return self._here.get(session_id) or self._gone.get(session_id)

    def put(self, session_id: str, size: Size) -> None:
        before = self._here.get(session_id)
        self.bytes += size.bytes - (0 if before is None else before.bytes)
        self._here[session_id] = size
        self._gone.pop(session_id, None)

    def drop(self, session_id: str) -> None:
        """It is not in memory any more."""
        size = self._here.pop(session_id)
        self.bytes -= size.bytes
        if size.bytes > HEAVY_BYTES:
            self._gone[session_id] = size
            if len(self._gone) > MAX_REMEMBERED:
                self._gone.popitem(last=False)

    def forget(self, session_id: str) -> None:
        """What was known of it does not hold any more."""
        if session_id in self._here:
            self.drop(session_id)
        self._gone.pop(session_id, None)


class _Actor(Struct):
    id: str


class _Delta(Struct):
    kind: str


class _Record(Struct):
    actor: _Actor
    delta: _Delta
    verb: str


_read = msgspec.json.Decoder(_Record).decode
REFUSED: Final = Refused.__struct_config__.tag


class Authors:
    """How many bytes of records that fill its state each principal has written into a session.

    Read from the ledger when somebody has to know, and then only on from where it was read to.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[str, tuple[int, Counter[str]]] = OrderedDict()

    async def of(self, session_id: str, upto: int) -> Counter[str]:
        seq, counts = self._known.get(session_id, (0, Counter()))
        if seq > upto:  # a backup was restored
            seq, counts = 0, Counter()
        counts = Counter(counts)
        if seq < upto:
            await self._store.replay(session_id, seq, upto, lambda records: tally(counts, records))
        self._known[session_id] = upto, counts
        self._known.move_to_end(session_id)
        if len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)
        return Counter(counts)


def tally(counts: Counter[str], records: list[bytes]) -> None:
    """Count what stays in the state. What was refused leaves nothing there."""
    for record in records:
        one = _read(record)
        if one.verb in VERBS_THAT_FILL and one.delta.kind != REFUSED:
            counts[one.actor.id] += len(record)


def part_of(size: int, counts: Counter[str], principal_id: str) -> int:
    """About how much of a state one principal's commands made."""
    return size * counts[principal_id] // max(1, counts.total())
