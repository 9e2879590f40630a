"""Hashes along a chain, reached from its beginning: with them any part of it is checked by itself."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

STEP: Final = 64
"""So many entries lie between two marks at most. Where a state hash may be due, there is a mark."""
HEAVY_BYTES: Final = 1 << 17
"""Nor do more bytes, unless one entry has more: little has to be read to check one of them."""
_DIGEST: Final = 32


class Marks:
    """How far a chain was followed (`seq`, `hash`), and marks on the way, in some 40 bytes each.

    They begin after `start`: what lies before was followed by somebody else.
    """

    __slots__ = ("_digests", "_seqs", "_size", "_unmarked", "hash", "seq", "start")

    def __init__(self, seq: int = 0, hash_: str = "") -> None:
        self.start = (seq, hash_)
        self.seq, self.hash = seq, hash_
        self._seqs = array("Q")
        self._digests = bytearray()
        self._size = self._unmarked = 0
        """Bytes of all that was followed, and of what came after the last mark."""

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
        sizes = list(map(len, records))
        self._size += sum(sizes)
        if len(sizes) > 1 and max(sizes) * STEP + self._unmarked <= HEAVY_BYTES:
            self._step_over(hashes, sizes)
            return
        for hash_, size in zip(hashes, sizes, strict=True):
            if self._unmarked + size > HEAVY_BYTES:
                self._mark()
            self.seq, self.hash = self.seq + 1, hash_
            self._unmarked += size
            if not self.seq % STEP:
                self._mark()

    def _step_over(self, hashes: Sequence[str], sizes: list[int]) -> None:
        """They are short: the steps alone say where marks are."""
        first, places = self.seq + 1, range(-(self.seq + 1) % STEP, len(hashes), STEP)
        for place in places:
            self._seqs.append(first + place)
            self._digests += bytes.fromhex(hashes[place])
        self._unmarked = sum(sizes[places[-1] + 1 :]) if places else self._unmarked + sum(sizes)
        self.seq, self.hash = self.seq + len(hashes), hashes[-1]

    def _mark(self) -> None:
        """Where the chain has been followed to, unless there is a mark or nothing was followed."""
        if self.seq > (self._seqs[-1] if self._seqs else self.start[0]):
            self._seqs.append(self.seq)
            self._digests += bytes.fromhex(self.hash)
        self._unmarked = 0

    def join(self, rest: "Marks") -> bool:
        """Go on with what was followed from here; False if that began elsewhere."""
        if rest.start != self.end:
            return False
        if self._unmarked + rest._size > HEAVY_BYTES:
            self._mark()
        self._unmarked = rest._unmarked + (0 if rest.count else self._unmarked)
        self._size += rest._size
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
