"""Hashes along a chain, reached from its beginning: with them any part of it is checked by itself."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

STEP: Final = 64
"""So many entries lie between two marks at most. Where a state hash may be due, there is a mark."""
HEAVY_BYTES: Final = 1 << 20
"""Of entries that are longer together, every one is marked: little has to be read to check one of them."""
_DIGEST: Final = 32


class Marks:
    """How far a chain was followed (`seq`, `hash`), and marks on the way, in some 40 bytes each.

    They begin after `start`: what lies before was followed by somebody else.
    """

    __slots__ = ("_digests", "_seqs", "hash", "seq", "start")

    def __init__(self, seq: int = 0, hash_: str = "") -> None:
        self.start = (seq, hash_)
        self.seq, self.hash = seq, hash_
        self._seqs = array("Q")
        self._digests = bytearray()

    @property
    def count(self) -> int:
        return len(self._seqs)

    @property
    def end(self) -> tuple[int, str]:
        return self.seq, self.hash

    def extend(self, hashes: Sequence[str], records: Sequence[bytes]) -> None:
        """The chain goes on with these."""
        if not hashes:
            return
        first = self.seq + 1
        step = 1 if sum(map(len, records)) > HEAVY_BYTES else STEP
        for place in range(-first % step, len(hashes), step):
            self._seqs.append(first + place)
            self._digests += bytes.fromhex(hashes[place])
        self.seq, self.hash = self.seq + len(hashes), hashes[-1]

    def join(self, rest: "Marks") -> bool:
        """Go on with what was followed from here; False if that began elsewhere."""
        if rest.start != self.end:
            return False
        self._seqs += rest._seqs
        self._digests += rest._digests
        self.seq, self.hash = rest.end
        return True

    def next_to(self, seq: int) -> tuple[int, str]:
        """The first mark at or after an entry, or the end: what the chain must lead to from there."""
        place = bisect_left(self._seqs, seq)
        if place == len(self._seqs):
            return self.end
        return self._seqs[place], self._digests[place * _DIGEST : (place + 1) * _DIGEST].hex()
