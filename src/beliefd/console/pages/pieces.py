"""What is too long for one page, as data: all of it, piece by piece."""

from typing import Any, Final

from beliefd.console.app import LARGE, Seen, Visitor
from beliefd.console.rendering import written_out
from beliefd.kernel.errors import invalid
from beliefd.protocol.wire import is_longer
from beliefd.steward.offload import offload

PIECE: Final = 30_000
"""Characters on one page; each is written with five bytes at most."""


async def in_pieces(visitor: Visitor, told: Any, title: str, back: str) -> Seen:
    """The piece of `told` that the address asks for; `back` is where it is decided or listed."""
    written = await offload(is_longer(told, LARGE), written_out, told)
    pieces = -(-len(written) // PIECE)
    asked = visitor.query.get("piece", "1")
    if not (asked.isascii() and asked.isdigit() and len(asked) < 7 and 1 <= int(asked) <= pieces):
        raise invalid(f"it has the pieces 1 to {pieces}", "piece")
    at = int(asked)
    piece = written[(at - 1) * PIECE : at * PIECE]
    return Seen("whole.html", {"title": title, "back": back, "piece": piece, "at": at, "pieces": pieces})
