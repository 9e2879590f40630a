"""Ways to read a text with its disguise taken off: decoded, joined up, digits read as letters."""

import binascii
import html
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from string import ascii_letters, digits
from typing import Final

_ENDS = ".!?;\n\r。！？；"
_SQUEEZE: Final = bytes(
    code if chr(code).isalnum() or chr(code) in ".@" else ord(".") if chr(code) in _ENDS else ord(" ")
    for code in range(128)
).ljust(256)
_END = re.compile(f"[{_ENDS}]")
_GAP = re.compile(r"[^\w.@]+|_+")
_INNER_DOT = re.compile(r"\.(?=[^\W_])")  # of a name or an address, not the end of a sentence


def squeeze(text: str) -> str:
    """Words with one space around each and ` . ` between sentences; the form that word rules read."""
    text = _INNER_DOT.sub(" ", text)
    if text.isascii():  # much the faster way
        text = text.encode().translate(_SQUEEZE).decode()
    else:
        text = _GAP.sub(" ", _END.sub(".", text))
    return f" {' '.join(text.replace('.', ' . ').replace('@', ' @ ').split())} "


LETTERS: Final = ascii_letters
DIGITS: Final = digits


def table(*, a: str = "", zero: str = "", kept: str = "") -> bytes:
    """A table for `bytes.translate` that leaves the shape of a text: `a`, `0`, kept characters and spaces."""
    shape = {ord(c): c for c in kept} | {ord(c): "0" for c in zero} | {ord(c): "a" for c in a}
    return "".join(shape.get(code, " ") for code in range(256)).encode()


# -- encodings -----------------------------------------------------------------------------------------------

_SHORTEST_CODE: Final = 16
"""Characters that a run must have to be worth decoding, or to hold a phrase written as one word."""

_PERCENT = re.compile("%[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2})*")
_ENTITY = re.compile("&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});?")
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]{1,6})\}")
_HEX = re.compile("[0-9a-fA-F]+")
_HEX_PAIRS = re.compile("[ :][0-9a-fA-F]{2}(?:[ :][0-9a-fA-F]{2}){6,}")
TO_RUNS: Final = table(a=LETTERS + DIGITS + "+/_-")
_LONG_RUN = b"a" * _SHORTEST_CODE


def _readable(data: bytes) -> str | None:
    with suppress(UnicodeDecodeError):
        text = data.replace(b"\0", b"").decode()  # UTF-16 of plain letters is readable too
        return text if "".join(text.split()).isprintable() else None
    return None


def _percent(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


def _escape(match: re.Match[str]) -> str:
    code = int(match[1] or match[2] or match[3], 16)
    return chr(code) if code <= 0x10FFFF else match[0]


def _pairs(match: re.Match[str]) -> str:
    first = match.string[max(0, match.start() - 2) : match.start()]  # before it need not be a separator
    for pairs in (first + match[0], match[0]):
        with suppress(ValueError):
            text = _readable(bytes.fromhex(pairs.replace(":", " ")))
            if text is not None:
                return f" {text}"
    return match[0]


def decoded_run(run: str) -> str:
    """A run read as hexadecimal, else as base64, else left alone."""
    if len(run) % 2 == 0 and _HEX.fullmatch(run):
        return _readable(bytes.fromhex(run)) or run
    if run.islower():  # a path or a name-with-hyphens; base64 of text has capitals
        return run
    body = run.replace("-", "+").replace("_", "/")
    with suppress(binascii.Error):
        return _readable(binascii.a2b_base64(body + "=" * (-len(body) % 4))) or run
    return run


def _spans(shape: bytes) -> Iterator[tuple[int, int]]:
    end = 0
    while (start := shape.find(_LONG_RUN, end)) >= 0:
        end = shape.find(b" ", start)
        end = len(shape) if end < 0 else end
        yield start, end


def long_runs(text: str, data: bytes) -> list[str]:
    """Runs of a text, also given as ASCII bytes, that are long enough to hold something."""
    return [text[start:end] for start, end in _spans(data.translate(TO_RUNS))]


def _decoded_runs(text: str) -> str:
    parts, at = [], 0
    for start, end in _spans(text.encode("ascii", "replace").translate(TO_RUNS)):
        parts += [text[at:start], decoded_run(text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def decoded(text: str) -> str:
    """The text with every encoding taken off once; unchanged where nothing readable comes out."""
    if "%" in text:
        text = _PERCENT.sub(_percent, text)
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
    if "\\" in text:
        text = _ESCAPE.sub(_escape, text)
    if " 6" in text or ":6" in text:  # most small letters are sixty-something
        text = _HEX_PAIRS.sub(_pairs, text)
    return _decoded_runs(text)


# -- letters kept apart, digits for letters ------------------------------------------------------------------

_SPACED = re.compile(r"(?<![^\W_])(?:[^\W\d_][\W_]{1,3}){4,}[^\W\d_](?![^\W_])")
_SEPARATOR = re.compile(r"[\W_]+")
LEET_SIGNS: Final = "013457@$!|"
_LEET = re.compile(f"[a-z][{LEET_SIGNS}][a-z]")
LEET_LETTERS: Final = ("oieastasii", "oleastasil")  # 1 and | may be i or l
_FROM_LEET = tuple(str.maketrans(LEET_SIGNS, letters) for letters in LEET_LETTERS)
_LONG_WORD = re.compile(f"[a-z]{{{_SHORTEST_CODE},}}")


def _joined(match: re.Match[str]) -> str:
    """Letters joined; the separator that is not the usual one ends a word."""
    usual = Counter(_SEPARATOR.findall(match[0])).most_common(1)[0][0]
    return _SEPARATOR.sub(lambda separator: "" if separator[0] == usual else " ", match[0])


def respelt(text: str) -> list[str]:
    """Readings of a lower-case text without spacing tricks and digit spelling; empty if it has none."""
    readings = []
    joined = _SPACED.sub(_joined, text)
    if joined != text:
        readings.append(joined)
    if _LEET.search(joined):
        readings += [joined.translate(spelling) for spelling in _FROM_LEET]
    if long_words := _LONG_WORD.findall(text):
        readings.append(" ".join(long_words))
    return readings
