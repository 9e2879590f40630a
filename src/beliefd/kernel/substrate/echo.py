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
"""So many characters of what a caller put in are compared; where there are more, nobody can tell."""
MOST_CALLERS: Final = 8
SHORT: Final = 2
"""Words as short as this are in most texts, whoever wrote them."""
ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")


class PutIn(Struct, frozen=True):
    """What callers have put into calls, made ready once for all results that are compared with it.

    `whole` is None if it is more than can be compared. `beyond` is only looked for text by text.
    """

    whole: str | None
    parts: tuple[str, ...]
    beyond: frozenset[str] = frozenset()


def put_in(args: Iterable[Any]) -> PutIn:
    said: dict[str, None] = {}
    size = 0
    for leaf in (leaf for one in args for leaf in leaves(one)):
        size += len(leaf)
        if size > MOST_PUT_IN:
            return PutIn(None, ())
        said[leaf.casefold()] = None
    return _made_ready(said)


def put_in_by(calls: Iterable[tuple[str, Any]], caller: str) -> PutIn:
    """What callers have put into calls, the newest first, to be compared with a result that `caller` got.

    INVARIANT: nobody can hide by bulk what he himself put in, and nobody's bulk speaks against a result of
    somebody else: of others what is too much is only looked for text by text.
    """
    said: dict[str, None] = {}
    beyond: set[str] = set()
    sizes = {caller: 0}
    for who, args in calls:
        for leaf in sorted(leaves(args), key=lambda one: (len(one), one)):
            if (plain := leaf.casefold()) in said:
                continue
            is_known = who in sizes or len(sizes) < MOST_CALLERS
            if is_known and sizes.get(who, 0) + len(leaf) <= MOST_PUT_IN:
                sizes[who] = sizes.get(who, 0) + len(leaf)
                said[plain] = None
            elif who == caller:
                return PutIn(None, ())
            else:
                beyond.add(leaf[:LONGEST].casefold())
    return _made_ready(said, beyond)


def _made_ready(said: dict[str, None], beyond: Iterable[str] = ()) -> PutIn:
    longest = sorted((one for one in said if len(one) > SHORT), key=lambda one: (-len(one), one))
    return PutIn("\n".join(said), tuple(longest[:MOST_PARTS]), frozenset(beyond))


def echoes(result: Any, given: PutIn) -> bool:
    """Is most of a result taken from what callers put in? One that says nothing is an echo.

    Names that a tool gives to its answers say nothing by themselves; those that callers put in do.
    """
    if given.whole is None:
        return True
    said, names = _longest(values_in(result)), _longest(names_in(result))
    told = [(len(one), _repeated(one, given.whole, given)) for one in (*said, *names)]
    counted = [*told[: len(said)], *(one for one in told[len(said) :] if one[1])]
    total = sum(length for length, _ in counted)
    return not total or sum(repeated for _, repeated in counted) > MOST_REPEATED * total


def _longest(found: set[str]) -> list[str]:
    """INVARIANT: however much there is, so much of it is compared and no more; the longest say the most."""
    return [one[:LONGEST] for one in sorted(found, key=lambda one: (-len(one), one))[:LOOKED_AT]]


def _repeated(text: str, whole: str, given: PutIn) -> int:
    """How many characters of a text come out of the arguments, in whatever writing."""
    share = max((_share(one.casefold(), whole, given) for one in _readings(text)), default=0.0)
    return round(share * len(text))


def _share(text: str, whole: str, given: PutIn) -> float:
    if not text:
        return 0.0
    if text in whole or text in given.beyond:
        return 1.0
    left = text
    for part in given.parts:
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
