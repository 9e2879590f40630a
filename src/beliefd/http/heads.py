"""Heads that came before on the same connection, byte for byte, and what the parser made of them.

A caller that keeps its connection mostly sends the same head again. Nothing but the parsing is spared: who it
is, what is allowed and what the body holds is looked at each time.
"""

from typing import Final

from msgspec import Struct

from beliefd.http.direct import MAX_BODY, Verb
from beliefd.http.headers import Headers, read_headers

END: Final = b"\r\n\r\n"
MAX_HEADS: Final = 4
"""A connection asks for few things again and again; bodies of other lengths have other heads."""
LONGEST: Final = 1024
ONCE: Final = frozenset({b"idempotency-key", b"transfer-encoding"})
"""Names of headers in heads that come once, and in those that do not say how long their body is."""


class KnownHead(Struct, frozen=True):
    """A head that asked for a verb. `size` is its own, with the empty line, `whole` is that with its body."""

    verb: Verb
    headers: Headers
    size: int
    whole: int


class Heads:
    """INVARIANT: heads hold tokens. They are kept for one connection, a few of them, and end with it."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, KnownHead] = {}

    def find(self, data: bytes) -> KnownHead | None:
        """The head of a request that is all there is in these bytes; None if it was not seen before."""
        if not self._known:
            return None
        known = self._known.get(data[: data.find(END) + len(END)])
        return known if known is not None and known.whole == len(data) else None

    def learn(self, data: bytes, verb: Verb, headers: list[tuple[bytes, bytes]]) -> None:
        """Remember how a request was read that was all there was in these bytes."""
        size = data.find(END) + len(END)
        told = dict(headers)
        length = told.get(b"content-length", b"")
        # INVARIANT: where the head ends for the parser it ends here: only then its length fits the rest.
        is_whole = len(told) == len(headers) and length.isdigit() and int(length) == len(data) - size
        if size > LONGEST or not is_whole or len(data) - size > MAX_BODY or not ONCE.isdisjoint(told):
            return
        if len(self._known) >= MAX_HEADS:
            self._known.clear()
        self._known[data[:size]] = KnownHead(verb, read_headers(headers), size, len(data))

    def forget(self) -> None:
        self._known.clear()
