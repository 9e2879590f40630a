"""Which of some hashes no record mentions: what may be removed, and what may not."""

import re
from collections.abc import Iterable
from typing import Final

DIGITS: Final = 64
_HEX: Final = re.compile(rb"[0-9a-fA-F]{%d,}" % DIGITS)


def mentioned_in(records: Iterable[bytes]) -> set[str]:
    """All that could be a hash in these records."""
    found: set[str] = set()
    for record in records:
        for one in _HEX.finditer(record):
            digits = one.group().decode().lower()
            found.update(digits[start : start + DIGITS] for start in range(len(digits) - DIGITS + 1))
    return found


class Uncited:
    """Hashes of content that no record read so far mentions, and how far each ledger has been read.

    Any 64 hex digits in a row count as a mention, in either case and wherever they stand: rather something
    useless is kept than something that somebody points at is removed.
    """

    def __init__(self, hashes: Iterable[str]) -> None:
        self.left = set(hashes)
        self.read_upto: dict[str, int] = {}

    def take(self, records: Iterable[bytes]) -> None:
        """Strike out what these records mention."""
        for record in records:
            self.left -= mentioned_in((record,))

    def unread(self, heads: Iterable[tuple[str, int]]) -> list[tuple[str, int, int]]:
        """Of these ledgers with the `seq` of their heads, those that are longer than what was read of them:
        which it is, up to where it was read, and where it ends."""
        return [
            (session_id, known, seq)
            for session_id, seq in heads
            if (known := self.read_upto.get(session_id, 0)) < seq
        ]
