"""Text from outside as people can be shown it: nothing in it is invisible, and nothing moves what follows."""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

PADDING: Final = re.compile(" {3,}")
BLANK: Final = frozenset("\u2800\U00016fe4\U0001d159")
"""A symbol, a mark and a note that are drawn as nothing, though Unicode has no property that says so."""
KNOWN: Final = 8_192


def visible(text: str) -> str:
    """Text from outside, on one line, with all invisible characters escaped.

    Runs of spaces are cut: padding would move what follows to where it looks like our words.
    """
    return PADDING.sub("  ", _translated(text, _ESCAPED))


def visible_lines(text: str) -> str:
    """The same for text of ours that quotes some: its own lines and columns stay."""
    return "\n".join(_translated(line, _ESCAPED) for line in text.split("\n"))


def visible_json(answer: Any) -> bytes:
    """JSON of the same value, in which what is invisible is written by its number.

    Outside of texts JSON is plain ASCII, so whatever else is found stands in a text and may be escaped there.
    """
    written = msgspec.json.encode(answer)
    if written.isascii() and b"\x7f" not in written:
        return written
    return written.decode().translate(_IN_JSON).encode()


def _translated(text: str, table: "_Table") -> str:
    return text if text.isascii() and text.isprintable() else text.translate(table)


class _Table(dict[int, str]):
    """A `str.translate` table that looks characters up when first met."""

    def __init__(self, escape: Callable[[str], str]) -> None:
        super().__init__()
        self._escape = escape

    def __missing__(self, code: int) -> str:
        char = chr(code)
        spelt = char if _shows(char) else self._escape(char)
        if len(self) < KNOWN:
            self[code] = spelt
        return spelt


def _shows(char: str) -> bool:
    """Is it drawn as itself? Unassigned, private and control characters, and all spaces but one, are not."""
    return (
        char.isprintable()
        and unicodedata.category(char) != "Cf"
        and char not in BLANK
        and (char.isascii() or not _ignorable()(char))
    )


@lru_cache(1)
def _ignorable() -> Callable[[str], bool]:
    """Does Unicode say that a character is not to be drawn? Python's tables lack that property."""
    import jsonschema_rs

    found: Callable[[str], bool] = jsonschema_rs.validator_for(
        {"pattern": r"^\p{Default_Ignorable_Code_Point}$"}
    ).is_valid
    return found


def _numbered(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def _json_number(char: str) -> str:
    pairs = char.encode("utf-16-be").hex()
    return "".join(f"\\u{pairs[at : at + 4]}" for at in range(0, len(pairs), 4))


_ESCAPED: Final = _Table(_numbered)
_IN_JSON: Final = _Table(_json_number)
