"""Whole words of a text, in one spelling: compatibility forms, case, accents and look-alikes are folded.

Zero-width characters are dropped, and everything else that is neither letter nor digit ends a word.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from beliefd.kernel.scan.spelling import LOOK_ALIKES

_DROPPED: Final = ("Mn", "Me", "Cf")
"""Marks on letters, and characters that nobody sees."""
FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800")
"""Letters and symbols that are drawn as nothing."""

Phrases = Mapping[int, Mapping[tuple[str, ...], str]]
"""By the number of their words: phrases as they are compared, and as they were written."""


class _Spelling(dict[int, str]):
    """A `str.translate` table that works characters out when first met.

    Character by character on purpose: `unicodedata.normalize` takes quadratic time on runs of marks. The
    compatibility form is taken apart, not put together: so it is the same however the text was composed.
    """

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", chr(code)).casefold())
        spelt = "".join(_kept(part) for part in parts)
        if len(self) < 8_192:
            self[code] = spelt
        return spelt


def _kept(char: str) -> str:
    if unicodedata.category(char) in _DROPPED or char in FILLERS:
        return ""
    return LOOK_ALIKES.get(char, char) if char.isalnum() else " "


_SPELLING: Final = _Spelling()
_ASCII: Final = "".join(_SPELLING[code] for code in range(128)).encode().ljust(256)
"""The same for bytes, each of which has one: most texts are written with these alone."""

_ALIKE: Final = str.maketrans("oil", "011")
"""Letters that pass for digits. Only who is asked whether two texts look the same should fold these."""
_BETWEEN: Final = bytes(code for code in range(128) if _ASCII[code : code + 1].isspace())
_LOOKS: Final = _ASCII.decode().translate(_ALIKE).encode()


def folded(text: str) -> str:
    """A name in one spelling, its separators kept."""
    return "".join(_SPELLING[ord(char)] if char.isalnum() or not char.isascii() else char for char in text)


def whole_words(text: str) -> list[str]:
    if text.isascii():
        return text.encode().translate(_ASCII).decode().split()
    return text.translate(_SPELLING).split()


def look(text: str) -> str:
    """All letters and digits of a text, whatever stands between them, those that look alike as one."""
    return "".join(whole_words(text)).translate(_ALIKE)


def ascii_words_as_json(text: str) -> bytes:
    """`whole_words` of a text in ASCII, as a list in JSON: letters and digits alone need no escape."""
    words = text.encode().translate(_ASCII).split()
    return b'["%b"]' % b'","'.join(words) if words else b"[]"


def ascii_look_as_json(text: str) -> bytes:
    """`look` of a text in ASCII, as a text in JSON."""
    return b'"%b"' % text.encode().translate(_LOOKS, _BETWEEN)


@lru_cache(256)
def phrases(written: tuple[str, ...]) -> Phrases:
    """Words and sequences of words, ready to be looked up. What holds no letter is none."""
    found: dict[int, dict[tuple[str, ...], str]] = {}
    for one in written:
        words = tuple(whole_words(one))
        if words:
            found.setdefault(len(words), {}).setdefault(words, one)
    return found


def first_said(words: list[str], wanted: Phrases) -> str | None:
    """One of the phrases that occurs, as it was written. Linear in the words of the text."""
    for size, known in wanted.items():
        for at in range(len(words) - size + 1):
            if (found := known.get(tuple(words[at : at + size]))) is not None:
                return found
    return None
