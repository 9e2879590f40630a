"""Comparing JSON values: numbers with numbers, times with times, lists as sets."""

import re
from collections.abc import Hashable, Iterable
from datetime import datetime
from functools import lru_cache
from operator import eq, ge, gt, le, lt
from typing import Any, Final, Literal

from beliefd.kernel import patterns

Comparison = Literal["lt", "le", "gt", "ge"]
_COMPARE: Final = {"lt": lt, "le": le, "gt": gt, "ge": ge, "eq": eq}
MAX_TIME: Final = 40
"""Characters of a time; what is longer is none."""
_TIME: Final = re.compile(patterns.TIMESTAMP)


class Bound(str):
    """A time that values are compared with. It is the text as it was written, read once."""

    __slots__ = ("moment",)
    moment: datetime | None

    def __new__(cls, text: str) -> "Bound":
        made = super().__new__(cls, text)
        made.moment = moment(text)
        return made


class Members(tuple[Any, ...]):
    """Values to look others up in: as many as there are, one look-up takes the same time."""

    keys: frozenset[Hashable]

    def __new__(cls, values: Iterable[Any]) -> "Members":
        made = super().__new__(cls, values)
        made.keys = frozenset(map(key_of, made))
        return made


def key_of(value: Any) -> Hashable:
    """Two values have one key exactly if they are the same JSON value (`paths.same`)."""
    if isinstance(value, bool) or value is None:
        return ("is", value)
    if isinstance(value, dict):
        return ("object", frozenset((name, key_of(inner)) for name, inner in value.items()))
    if isinstance(value, list | tuple):
        return ("list", tuple(map(key_of, value)))
    return ("text", value) if isinstance(value, str) else ("number", value)


def is_number(value: Any) -> bool:
    """INVARIANT: true and false are no numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    return is_number(value) and value >= 0 and value % 1 == 0


def moment(value: Any) -> datetime | None:
    """The time that a text names, with `Z` or an offset; None if it names none."""
    if isinstance(value, Bound):
        return value.moment
    return _moment(value) if isinstance(value, str) and len(value) <= MAX_TIME else None


@lru_cache(1024)
def _moment(text: str) -> datetime | None:
    if _TIME.search(text) is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # it looks like one, and names a thirteenth month
        return None


def comparable(value: Any) -> bool:
    return is_number(value) or moment(value) is not None


def compare(op: str, left: Any, right: Any) -> bool:
    """Is it so? Only of two numbers, or of two times."""
    if is_number(left) and is_number(right):
        return bool(_COMPARE[op](left, right))
    first = moment(left)
    second = None if first is None else moment(right)
    return first is not None and second is not None and bool(_COMPARE[op](first, second))
