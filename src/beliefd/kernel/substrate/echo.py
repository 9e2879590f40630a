"""Does a result say anything that no caller had put into a call?"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

MOST_REPEATED: Final = 0.5
"""Of the characters of a result so many may come out of arguments; past it, it is an echo."""
LOOKED_AT, LONGEST, MOST_PARTS = 300, 10_000, 50
MOST_PUT_IN: Final = 1024 * 1024
"""So much of what callers put in is compared; where there is more, nobody can tell."""
SHORT: Final = 2
"""Words as short as this are in most texts, whoever wrote them."""
ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")


class PutIn(Struct, frozen=True):
    """What callers have put into calls, made ready once for all results that are compared with it.

    `whole` is None if it is more than can be compared.
    """

    whole: str | None
    parts: tuple[str, ...]


def put_in(args: Iterable[Any]) -> PutIn:
    said: dict[str, None] = {}
    size = 0
    for leaf in (leaf for one in args for leaf in leaves(one)):
        size += len(leaf)
        if size > MOST_PUT_IN:
            return PutIn(None, ())
        said[leaf.casefold()] = None
    longest = sorted((one for one in said if len(one) > SHORT), key=lambda one: (-len(one), one))
    return PutIn("\n".join(said), tuple(longest[:MOST_PARTS]))


def echoes(result: Any, given: PutIn) -> bool:
    """Is most of a result taken from what callers put in? One that says nothing is an echo.

    Names that a tool gives to its answers say nothing by themselves; those that callers put in do.
    """
    if given.whole is None:
        return True
    said, names = _longest(values_in(result)), _longest(names_in(result))
    told = [(len(one), _repeated(one, given.whole, given.parts)) for one in (*said, *names)]
    counted = [*told[: len(said)], *(one for one in told[len(said) :] if one[1])]
    total = sum(length for length, _ in counted)
    return not total or sum(repeated for _, repeated in counted) > MOST_REPEATED * total


def _longest(found: set[str]) -> list[str]:
    """INVARIANT: however much there is, so much of it is compared and no more; the longest say the most."""
    return [one[:LONGEST] for one in sorted(found, key=lambda one: (-len(one), one))[:LOOKED_AT]]


def _repeated(text: str, whole: str, parts: tuple[str, ...]) -> int:
    """How many characters of a text come out of the arguments, in whatever writing."""
    share = max((_share(one.casefold(), whole, parts) for one in _readings(text)), default=0.0)
    return round(share * len(text))


def _share(text: str, whole: str, parts: tuple[str, ...]) -> float:
    if not text:
        return 0.0
    if text in whole:
        return 1.0
    left = text
    for part in parts:
        left = left.replace(part, "")
    return 1 - len(left) / len(text)


def _readings(text: str) -> Iterator[str]:
    """A text as it is, and what it reads as if it is written as JSON or in base64."""
    yield text
    if "\\" in text:
        try:
            yield str(json.loads(text if text.startswith('"') else f'"{text}"'))
        except ValueError:
            yield re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    if ENCODED.fullmatch(text) is not None:
        try:
            plain = text.replace("-", "+").replace("_", "/")
            yield base64.b64decode(plain + "=" * (-len(plain) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError, ValueError):
            return


def leaves(value: Any) -> set[str]:
    """All texts and numbers in a JSON value, those that are keys too."""
    return values_in(value) | names_in(value)


def values_in(value: Any) -> set[str]:
    if isinstance(value, dict | list | tuple):
        items = value.values() if isinstance(value, dict) else value
        return set().union(*map(values_in, items))
    return set() if value is None or isinstance(value, bool) else {str(value)}


def names_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(map(str, value)).union(*map(names_in, value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list | tuple) else set()
