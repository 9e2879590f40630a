"""Comparing JSON values: numbers with numbers, times with times, lists as sets."""

import re
from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from operator import eq, ge, gt, le, lt
from typing import Any, Final, Literal

from beliefd.kernel import patterns

Comparison = Literal["lt", "le", "gt", "ge"]
_COMPARE: Final = {"lt": lt, "le": le, "gt": gt, "ge": ge, "eq": eq}
MAX_TIME: Final = 40
"""Characters of a time in a policy; what is longer is none."""
MAX_WIDE: Final = 1_000
"""Those of a time in a value: its fraction may have any number of digits."""
_TIME: Final = re.compile(patterns.TIMESTAMP)
_WIDE: Final = re.compile(
    "^(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    "(:(?P<second>[0-9]{2})([.,](?P<part>[0-9]+))?)?(?P<zone>[Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$(?!\\n)"
)
"""Every way in which RFC 3339 and the extended format of ISO 8601 write a time of a day with its offset."""


class Bound(str):
    """A time that values are compared with. It is the text as it was written, read once.

    `wide`: values name times in every way that `moment` knows, else only as policies write them.
    """

    __slots__ = ("moment", "wide")
    moment: datetime | None
    wide: bool

    def __new__(cls, text: str, *, wide: bool = False) -> "Bound":
        made = super().__new__(cls, text)
        made.moment, made.wide = moment(text, wide=False), wide
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


def moment(value: Any, *, wide: bool = True) -> datetime | None:
    """The time that a text names, with `Z` or an offset; None if it names none."""
    if isinstance(value, Bound):
        return value.moment
    if not isinstance(value, str) or len(value) > (MAX_WIDE if wide else MAX_TIME):
        return None
    return _widely(value) if wide else _moment(value)


@lru_cache(1024)
def _widely(text: str) -> datetime | None:
    """Parts of a microsecond are cut off; a leap second and 24:00 are the moment that follows them."""
    found = _WIDE.search(text)
    if found is None:
        return None
    hour, second, part, zone = found["hour"], found["second"] or "00", found["part"] or "", found["zone"]
    midnight = hour == "24" and f"{found['minute']}{second}{part}".strip("0") == ""
    leaps = second == "60"
    plain = f"{found['day']}T{'00' if midnight else hour}:{found['minute']}:{'59' if leaps else second}"
    offset = "+00:00" if zone in "Zz" else zone
    try:
        read = datetime.fromisoformat(f"{plain}.{part[:6]:0<6}{offset}")
    except ValueError:
        return None
    try:
        return read + timedelta(days=midnight, seconds=leaps)
    except OverflowError:  # the last moment of the calendar
        return read.replace(hour=23, minute=59, second=59, microsecond=999_999)


@lru_cache(1024)
def _moment(text: str) -> datetime | None:
    if _TIME.search(text) is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # it looks like one, and names a thirteenth month
        return None


def comparable(value: Any) -> bool:
    """What policies compare with. INVARIANT: it is read the same way as ever."""
    return is_number(value) or moment(value, wide=False) is not None


def compare(op: str, left: Any, right: Any) -> bool:
    """Is it so? Only of two numbers, or of two times."""
    if is_number(left) and is_number(right):
        return bool(_COMPARE[op](left, right))
    first = moment(left, wide=isinstance(right, Bound) and right.wide)
    second = None if first is None else moment(right, wide=False)
    return first is not None and second is not None and bool(_COMPARE[op](first, second))
