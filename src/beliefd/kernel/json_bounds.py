"""How much there may be in one JSON text, counted on its bytes before anything is built from them.

A parsed value takes much more memory than its bytes: an empty object of two bytes takes sixty-four. So the
signs outside of texts are counted that make values, slice by slice, and counting ends at the first bound
that is passed. No slice is long: other threads have their turn in between.
"""

from collections.abc import Iterator
from typing import Final

from beliefd.kernel.strict_json import Unreadable

MAX_CONTAINERS: Final = 100_000
"""Objects and lists."""
MAX_KEYS: Final = 200_000
"""Keys of all objects together."""
MAX_VALUES: Final = 1_100_000
"""Items of all lists and objects together; the longest lists are those of hypotheses."""
SLICE: Final = 64 * 1024
BOUNDS: Final[tuple[tuple[str, bytes, int], ...]] = (
    ("objects and lists", b"{[", MAX_CONTAINERS),
    ("keys", b":", MAX_KEYS),
    ("values", b",", MAX_VALUES),
)
"""What is bounded, the signs that it is counted by, and how many there may be."""
WEIGHTS: Final = {"objects and lists": 60, "keys": 12, "values": 12}
"""Bytes that each counts for beside its own. A short text becomes twenty times its bytes, a long one seven
times: with this, what is built stays below eight times what is counted."""
NEVER_CROWDED: Final = min(bound for _, _, bound in BOUNDS)
"""So many bytes cannot hold more signs than any bound allows."""


class Crowded(Unreadable):
    """There is more in it than is read; `limit` is how much would be."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"more than {limit} {what}; send it in parts")
        self.limit = limit


def weighed(data: bytes) -> int:
    """What a text counts for: its bytes, and more if it holds many values.

    Crowded if there are too many. INVARIANT: no value is built of more than this, whatever the bytes are.
    """
    if len(data) <= NEVER_CROWDED:
        return len(data)
    counted = dict.fromkeys((what for what, _, _ in BOUNDS), 0)
    for piece in _outside_texts(data):
        for what, signs, limit in BOUNDS:
            counted[what] += sum(piece.count(sign) for sign in signs)
            if counted[what] > limit:
                raise Crowded(what, limit)
    return len(data) + sum(WEIGHTS[what] * count for what, count in counted.items())


def _outside_texts(data: bytes) -> Iterator[bytes]:
    """What stands between the texts of a JSON text, a slice at a time."""
    inside, held = 0, b""
    for at in range(0, len(data), SLICE):
        piece = held + data[at : at + SLICE]
        # An escape is not cut in two: a last backslash that begins one waits for what it escapes.
        cut = (len(piece) - len(piece.rstrip(b"\\"))) % 2
        held, piece = piece[len(piece) - cut :], piece[: len(piece) - cut]
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        yield b"".join(parts[inside::2])
        inside ^= (len(parts) - 1) & 1
