"""One spelling for all spellings: texts and keys as the marker scan compares them.

Everything is folded to lower-case ASCII: compatibility forms (full-width, mathematical letters), accents,
letters that only look Latin, typographic quotes. What is left is dropped, zero-width characters with it.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

MAX_ENCODINGS: Final = 8
"""How many times over a `\\u005c` may stand for the backslash of the next escape."""

_PIECE: Final = 16 * 1024
_ESCAPE: Final = re.compile(r"(?<!\\)\\++u([0-9A-Fa-f]{4})")  # in linear time, however many backslashes
_NO_ESCAPE: Final = re.compile(r"[^\\u0-9A-Fa-f]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_KEPT: Final = b"abcdefghijklmnopqrstuvwxyz0123456789"
_DROPPED: Final = bytes(code for code in range(128) if code not in _KEPT)
_QUOTES: Final = dict.fromkeys("‘’‚‛‹›′", "'") | dict.fromkeys("“”„‟«»″「」〝〞", '"')
_DASHES: Final = dict.fromkeys("‐‑‒–—―−⁃", "-")
# The letter that is not Latin, then the one it passes for.
_PAIRS: Final = "аaвbсcԁdеeһhіiјjкkӏlмmпnоoрpгrѕsтtѵvхxуyαaεeηnιiκkνvοoρpτtυuχxϲcɑaɡgıiʟlɴnʀrꜱsօoսuոnհh"
LOOK_ALIKES: Final = dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True))


class _Fold(dict[int, str]):
    """A `str.translate` table that works characters out when first met.

    Character by character on purpose: `unicodedata.normalize` takes quadratic time on runs of marks.
    """

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code).casefold())
        folded = "".join(_ascii(part) for part in parts)
        if len(self) < 8_192:
            self[code] = folded
        return folded


def _ascii(char: str) -> str:
    return char if char.isascii() else _QUOTES.get(char) or _DASHES.get(char) or LOOK_ALIKES.get(char, "")


_FOLD: Final = _Fold()


def plain(text: str) -> str | None:
    """The text in lower-case ASCII with its `\\u` escapes resolved; None if they are wrapped too often."""
    if "\\" in text and "\\u" in text:  # one character is looked for many times faster than two
        for _ in range(MAX_ENCODINGS):
            told = [_ESCAPE.subn(_resolved, piece) for piece in _pieces(text)]
            text = "".join([piece for piece, _ in told])
            if not any(resolved for _, resolved in told):
                break
        else:
            if _ESCAPE.search(text):
                return None
    if not text.isascii():
        if _SURROGATE.search(text):
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = "".join([piece.translate(_FOLD) for piece in _pieces(text)])
    return text.lower()


def _pieces(text: str) -> Iterator[str]:
    """The text cut where no escape stands: one call over megabytes would keep other threads from running."""
    at = 0
    while len(text) - at > _PIECE and (cut := _NO_ESCAPE.search(text, at + _PIECE)):
        yield text[at : cut.end()]
        at = cut.end()
    yield text[at:]


def _resolved(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16))


def letters(text: str) -> str:
    """Only what is left of a plain text without white space, punctuation and separators."""
    return text.encode("ascii").translate(None, _DROPPED).decode("ascii")


def normal(text: str) -> str:
    """The one form in which `epistemic_status`, `Epistemic-Status` and `epistemicStatus` are equal."""
    return letters(plain(text) or "")
