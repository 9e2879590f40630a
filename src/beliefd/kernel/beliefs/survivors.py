"""Survivors as a packed bitmap over the sorted universe: exact, small, and cheap to hash.

Both hashes are stated in BELIEF_PROTOCOL.md so that any language can recompute them.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice

from bitarray import bitarray

UNIVERSE_DOMAIN = b"belief/1 universe\x00"
SURVIVORS_DOMAIN = b"belief/1 survivors\x00"
_STANDING = bitarray("1")
SORTED_AT_ONCE = 16_384
SAMPLED = 4_096
BISECTION_COSTS = 10
"""How many membership tests one bisection is worth, measured."""


class Universe:
    """The fixed, sorted set of hypothesis ids of a session. Python's string order is UTF-8 byte order."""

    __slots__ = ("digest", "ids")

    def __init__(self, hypotheses: Iterable[str]) -> None:
        self.ids: tuple[str, ...] = _in_order(hypotheses)
        digest = hashlib.sha256(UNIVERSE_DOMAIN)
        for start in range(0, len(self.ids), 4096):
            encoded = [name.encode() for name in self.ids[start : start + 4096]]
            # Length prefixes, not separators: no two different universes share a byte string.
            digest.update(
                b"".join([part for name in encoded for part in (len(name).to_bytes(4, "big"), name)])
            )
        self.digest: bytes = digest.digest()

    def __len__(self) -> int:
        return len(self.ids)

    def position(self, hypothesis: str) -> int | None:
        # Bisection instead of a dict saves 75 bytes per hypothesis and costs a microsecond at a million.
        at = bisect_left(self.ids, hypothesis)
        return at if at < len(self.ids) and self.ids[at] == hypothesis else None


def _in_order(hypotheses: Iterable[str]) -> tuple[str, ...]:
    """Sorted, each once. Many are sorted in portions: other threads stand still while one sort runs."""
    names = tuple(hypotheses)
    if len(names) <= SORTED_AT_ONCE:
        return tuple(sorted(set(names)))
    portions: list[list[str]] = [[] for _ in range(len(names) // SORTED_AT_ONCE + 1)]
    sample = sorted(names[:: len(names) // SAMPLED + 1])
    bounds = [sample[at * len(sample) // len(portions)] for at in range(1, len(portions))]
    for name in names:
        portions[bisect_right(bounds, name)].append(name)
    return tuple(name for portion in portions for name in sorted(set(portion)))


class Survivors:
    """Which hypotheses of a universe are still standing. Immutable: `without` gives a new value."""

    __slots__ = ("_bits", "_digest", "count", "universe")

    def __init__(self, universe: Universe, bits: bitarray | None = None, count: int | None = None) -> None:
        self.universe = universe
        if bits is None:
            bits = bitarray(len(universe), endian="big")
            bits.setall(True)
        self._bits = bits
        self.count: int = bits.count() if count is None else count
        self._digest: str | None = None

    @classmethod
    def from_bytes(cls, universe: Universe, packed: bytes) -> "Survivors":
        bits = bitarray(endian="big")
        bits.frombytes(packed)
        if len(packed) != (len(universe) + 7) // 8 or bits[len(universe) :].any():
            raise ValueError("survivor bitmap does not fit the universe")
        del bits[len(universe) :]
        return cls(universe, bits)

    def to_bytes(self) -> bytes:
        return self._bits.tobytes()

    def without(self, hypotheses: Iterable[str]) -> "Survivors":
        # INVARIANT: survivors only shrink; this is the only way to a new value, and it only clears bits.
        gone = set(hypotheses)
        if len(gone) * BISECTION_COSTS > len(self.universe):
            # Asking each id whether it is gone is cheaper now than looking for each that is.
            bits = self._bits & ~bitarray(map(gone.__contains__, self.universe.ids), endian="big")
            return Survivors(self.universe, bits)
        positions = [at for name in gone if (at := self.universe.position(name)) is not None]
        if not positions:
            return self
        bits = self._bits.copy()
        bits[positions] = False
        return Survivors(self.universe, bits)

    def split(self, hypotheses: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
        """Those that still stand, those that have fallen, and those that were never declared; each sorted."""
        standing: list[str] = []
        fallen: list[str] = []
        unknown: list[str] = []
        for name in _in_order(hypotheses):
            at = self.universe.position(name)
            (unknown if at is None else standing if self._bits[at] else fallen).append(name)
        return standing, fallen, unknown

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Survivors) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __contains__(self, hypothesis: str) -> bool:
        at = self.universe.position(hypothesis)
        return at is not None and bool(self._bits[at])

    def __iter__(self) -> Iterator[str]:
        ids = self.universe.ids
        return (ids[at] for at in self._bits.search(_STANDING))

    def page(self, limit: int, after: str | None = None) -> list[str]:
        """The first `limit` survivors past `after`, in order."""
        start = 0 if after is None else bisect_left(self.universe.ids, after + "\x00")
        ids = self.universe.ids
        return [ids[at] for at in islice(self._bits.search(_STANDING, start), limit)]

    def not_in(self, other: "Survivors", limit: int) -> tuple[list[str], int]:
        """The first of those that stand here and not in another of the same universe, and how many do."""
        ids, only_here = self.universe.ids, self._bits & ~other._bits
        return [ids[at] for at in islice(only_here.search(_STANDING), limit)], only_here.count()

    @property
    def digest(self) -> str:
        """sha256(domain || universe digest || bitmap), in hex; O(n/8) and computed once per value."""
        if self._digest is None:
            state = hashlib.sha256(SURVIVORS_DOMAIN + self.universe.digest)
            state.update(self._bits.tobytes())
            self._digest = state.hexdigest()
        return self._digest
