"""JSON inside of texts: the whole text, a part of it with prose around, or one that is broken on purpose."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_OPENER: Final = re.compile(r'\{\s*"|\[\s*["\[{]')
_FIELD: Final = re.compile(
    r"""["']([^"'{}\[\],:]{3,80})["'] ?(?::|=>) ?(?=[ \[({"']*([^"'\[\]{}(),]{0,64}))"""
)
_PATIENCE: Final = 8
"""How often every character may be read again while looking for where JSON begins."""


class Tangled(Exception):
    """The text cannot be taken apart within bounds: too deep, or too many false beginnings."""


class Pairs(tuple[tuple[str, Any], ...]):
    """An object as it was written: a key that is there twice does not hide its first value."""

    __slots__ = ()


def _digits(_: str) -> int:
    # What number it is does not matter here, and CPython refuses to read very long ones.
    return 0


_DECODER: Final = json.JSONDecoder(object_pairs_hook=Pairs, parse_int=_digits, strict=False)


def whole(text: str | bytes) -> Any:
    """The JSON value that a text is; a `ValueError` if it is none."""
    read = text if isinstance(text, str) else text.decode(json.detect_encoding(text))
    try:
        return _DECODER.decode(read.strip("\ufeff \t\r\n"))
    except RecursionError:
        raise Tangled from None


def parsed(text: str) -> Iterator[tuple[int | None, Any]]:
    """Every JSON value in a text and where it begins; None stands for the whole text."""
    try:
        yield None, whole(text)
    except ValueError:
        yield from _parts(text)


def _parts(text: str) -> Iterator[tuple[int, Any]]:
    at, work = 0, 10_000 + _PATIENCE * len(text)
    while opener := _OPENER.search(text, at):
        begin = opener.start()
        try:
            value, at = _DECODER.raw_decode(text, begin)
        except RecursionError:
            raise Tangled from None
        except json.JSONDecodeError as error:
            at = begin + 1
            # Beside what was parsed in vain, the error has counted all lines before it, only much faster.
            work -= error.pos - begin + error.pos // 128
            if work < 0:
                raise Tangled from None
        else:
            yield begin, value


def fields(folded: str) -> Iterator[tuple[str, str, bool]]:
    """Key, value and whether an object can go on here, for all that looks like a field in a plain text.

    It needs no balanced brackets or quotes, so nothing written before can put it out of step.
    """
    line = " ".join(folded.replace("\\", "").split())
    for field in _FIELD.finditer(line):
        before = line[max(0, field.start() - 2) : field.start()].rstrip()
        yield field[1], field[2], before == "" or before[-1] in "{,"
