"""One layer of encodings other than JSON: base64 and percent escapes in a text, and fields written as lines.

A field counts only where it is written as one: a line of its own such as `lane: x`, a pair such as `lane=x`,
an attribute or an element of XML. A sentence with a colon in it is none.
"""

import binascii
import re
from collections.abc import Iterator
from typing import Final

from beliefd.kernel.scan.paths import PathStep

IN_BASE64: Final = PathStep("{base64}")
IN_PERCENT: Final = PathStep("{%}")
SHORTEST: Final = 13
"""No text that is shorter holds a marker by itself, in any encoding."""
SHORTEST_RUN: Final = 22
"""So many characters of base64 are the shortest field that could mark anything."""

_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_AS_RUNS: Final = bytes(ord("x") if code in _ALPHABET else ord(" ") for code in range(256))
_A_RUN: Final = b"x" * SHORTEST_RUN
_RUN: Final = re.compile(rb"[A-Za-z0-9+/_-]{%d,}" % SHORTEST_RUN)
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_READABLE: Final = bytes([0, 9, 10, 13, *range(32, 127)])
_DIGITS: Final = b"0123456789abcdef"
_AS_DIGITS: Final = bytes(
    code if code == ord('"') else ord("h") if code in _DIGITS else kind for code, kind in enumerate(_AS_RUNS)
)
_DIGEST_SHAPE: Final = b'"%s"' % (b"h" * 64)
_DIGEST: Final = re.compile(rb'"[0-9a-f]{64}"')
_PERCENT: Final = re.compile(rb"%([0-9A-Fa-f]{2})")

_KEY: Final = r"([a-z][a-z0-9_.-]{2,63})"
_BLANKS: Final = r"[ \t]{0,8}"
_WORD: Final = r"([a-z0-9_-]{0,40})"
_LINE: Final = re.compile(
    rf"^[ \t>*-]{{0,40}}[\"']?{_KEY}[\"']?{_BLANKS}[:=]{_BLANKS}[\"']?{_WORD}[\"']?[ \t,;]{{0,8}}$",
    re.MULTILINE,
)
_AFTER: Final = r"(?=[&;,)\]<>]|[ \t]{1,8}[a-z0-9_.-]{1,64}=|[ \t]{0,8}$)"
"""A value without quotes ends where the next pair can begin; a word in a sentence goes on."""
_BARE: Final = re.compile(rf"(?<![a-z0-9_.-]){_KEY}={_WORD}{_AFTER}", re.MULTILINE)
_QUOTED: Final = re.compile(rf"(?<![a-z0-9_.-]){_KEY}=[\"']{_WORD}[\"']")
_ELEMENT: Final = re.compile(rf"<{_KEY}>\s{{0,8}}{_WORD}\s{{0,8}}</")


def is_coded(data: bytes) -> bool:
    """Could there be base64 or percent escapes in it? A long word is enough, so it is for others to read."""
    return _has_escapes(data) or data.translate(_AS_RUNS).find(_A_RUN) >= 0


def is_coded_json(data: bytes) -> bool:
    """The same as of `without_digests`, which takes much longer than to see that nothing else is coded."""
    if _has_escapes(data):
        return True
    if data.translate(_AS_RUNS).find(_A_RUN) < 0:
        return False  # nor is there a digest: that would be a long word, too
    shape = data.translate(_AS_DIGITS).replace(_DIGEST_SHAPE, b'""')
    return shape.translate(_AS_RUNS).find(_A_RUN) >= 0


def without_digests(data: bytes) -> bytes:
    """JSON without SHA-256 digests that are texts by themselves: there are many, and no base64 is one."""
    return _DIGEST.sub(b'""', data)


def _has_escapes(data: bytes) -> bool:
    return b"%" in data and _PERCENT.search(data) is not None


def unwrapped(text: str) -> Iterator[tuple[PathStep, str]]:
    """What a text says once its percent escapes, or the base64 in it, are resolved."""
    data = text.encode("utf-8", "replace")
    if b"%" in data and _PERCENT.search(data) is not None:
        resolved = _PERCENT.sub(lambda escape: bytes([int(escape[1], 16)]), data)
        yield IN_PERCENT, resolved.decode("utf-8", "replace")
    # Lines that follow each other are one text: that is how long ones are wrapped.
    pieces = [piece for run in _RUN.findall(data) if (piece := _piece(run)) is not None]
    if pieces:
        whole = b"".join(pieces)
        yield IN_BASE64, whole.replace(b"\0", b"").decode("utf-8", "replace")


def _piece(run: bytes) -> bytes | None:
    """What a run of base64 stands for, if it is text; hashes and names are none."""
    run = run[: len(run) - (len(run) % 4 == 1)]
    found = binascii.a2b_base64(run.translate(_STANDARD) + b"=" * (-len(run) % 4))
    return found if len(found.translate(None, _READABLE)) * 4 <= len(found) else None


def pairs(folded: str) -> Iterator[tuple[str, str]]:
    """Key and value of all that is written as a field in a plain text that is no JSON."""
    for shape in (_LINE, _BARE, _QUOTED, _ELEMENT):
        for found in shape.finditer(folded):
            yield found[1], found[2]
