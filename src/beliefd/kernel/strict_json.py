"""Reading JSON from strangers: no duplicate keys, no NaN, no lone surrogates, bounded depth and numbers.

What most programs send is read by orjson, if writing it again gives the same bytes. All else is read by the
C decoder of `json`. Only where something may be wrong (a repeated key, a number past the bounds, half a
surrogate pair, many brackets) does a slower pass find out whether it is, and where.
"""

import json
import math
from typing import Any, Final, NoReturn

import msgspec
import orjson
from msgspec import Struct

from beliefd.kernel.canonical import MAX_DEPTH, MAX_SAFE_INTEGER, is_plain
from beliefd.kernel.values import shown

SAFE_DIGITS: Final = 15
"""An integer of so many digits is always within bounds."""
UNSURE: Final = object()


class Unreadable(ValueError):
    """The bytes are not JSON that beliefd accepts; `path` points at the place where that is known."""

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


def loads(data: bytes) -> Any:
    """Parse UTF-8 JSON, or say why not."""
    value = _verbatim(data)
    if value is not UNSURE:
        return value
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 at byte {error.start}") from None
    try:
        value = _quick.decode(text)
        if b"\\ud" in data or b"\\uD" in data or data.count(b"[") + data.count(b"{") > MAX_DEPTH:
            _refuse_offences(value, "$", 0)
    except _Suspicion:
        return _slowly(text)
    except RecursionError:
        raise _too_deep("$") from None
    except json.JSONDecodeError as error:
        hint = "; drop the byte order mark" if text.startswith("\ufeff") else ""
        place = f"line {error.lineno} column {error.colno}"
        raise Unreadable(f"not JSON: {error.msg} at {place}{hint}") from None
    return value


def _verbatim(data: bytes) -> Any:
    """The value, if writing it gives the same bytes: then nothing was lost in reading it.

    A repeated key, a number that does not fit, white space or another way to write a text show up as a
    difference, and the other readers decide whether they are wrong.
    """
    try:
        value = _read(data)
        if orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER) != data:
            return UNSURE
    except (_Suspicion, ValueError, TypeError, RecursionError):
        return UNSURE
    # Its floats are plain. There are other keys only beyond ASCII, and depths only behind many brackets.
    simple = data.isascii() and data.count(b"[") + data.count(b"{") <= MAX_DEPTH
    return value if simple or is_plain(value) else UNSURE


def is_verbatim(data: bytes) -> bool:
    """Does reading and writing it give the same bytes? Then no key is repeated and no number is lost, and all
    of it is text that can be written again. How large numbers are is for types to say, and how deep it is."""
    try:
        return orjson.dumps(orjson.loads(data), option=orjson.OPT_STRICT_INTEGER) == data
    except (ValueError, TypeError, RecursionError):
        return False


class _Suspicion(Exception):
    """Something the quick pass does not accept; the slow pass finds out whether it is wrong, and where."""


def _plain(digits: str) -> float:
    value = float(digits)
    # As `is_plain_float` has it; a call of that would take as long as the rest.
    if 1e-5 < abs(value) < 1e15 and not value.is_integer():
        return value
    raise _Suspicion


_read: Final = msgspec.json.Decoder(float_hook=_plain).decode


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Suspicion
    return value


def _small(digits: str) -> int:
    if len(digits) > SAFE_DIGITS:
        raise _Suspicion
    return int(digits)


def _moderate(digits: str) -> float:
    """JSON knows no difference between 2 and 2.0, and neither has its canonical form."""
    value = float(digits)
    if abs(value) > MAX_SAFE_INTEGER:
        raise _Suspicion
    return int(value) if value.is_integer() else value


def _unwanted(_: str) -> NoReturn:
    raise _Suspicion


_quick = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_small, parse_float=_moderate, parse_constant=_unwanted
)


class _Offence(Struct, frozen=True):
    """Stands in the place of what is wrong until its path is known."""

    message: str


def _slowly(text: str) -> Any:
    try:
        value = _slow.decode(text)
        _refuse_offences(value, "$", 0)
    except RecursionError:
        raise _too_deep("$") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in pairs:
        value[key] = _Offence(f"key `{shown(key)}` appears twice in one object") if key in value else item
    return value


def _integer(digits: str) -> Any:
    # int() of a very long text is slow, and CPython refuses it past 4,300 digits.
    if len(digits) > SAFE_DIGITS + 2 or abs(int(digits)) > MAX_SAFE_INTEGER:
        return _Offence("integers past 2^53 - 1 do not survive JSON; send them as strings")
    return int(digits)


def _number(digits: str) -> Any:
    value = float(digits)
    if not math.isfinite(value):
        return _Offence(f"`{shown(digits)}` is too large for a number; send it as a string")
    # Below 1e21 the canonical form has no exponent: read back it would be an integer past 2^53 - 1.
    if MAX_SAFE_INTEGER < abs(value) < 1e21:
        return _Offence("numbers from 2^53 to 1e21 do not survive JSON; send them as strings")
    return int(value) if value.is_integer() and abs(value) <= MAX_SAFE_INTEGER else value


def _constant(name: str) -> _Offence:
    return _Offence(f"`{name}` is not JSON")


_slow = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_number, parse_constant=_constant
)


def _refuse_offences(value: Any, path: str, depth: int) -> None:
    # INVARIANT: the same depth as in `canonical`, so that every record that was sealed can be read back.
    if depth > MAX_DEPTH:
        raise _too_deep(path)
    if isinstance(value, _Offence):
        raise Unreadable(value.message, path)
    if isinstance(value, str):
        _refuse_lone_surrogates(value, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_offences(item, f"{path}[{index}]", depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_lone_surrogates(key, path)
            _refuse_offences(item, f"{path}.{shown(key)}", depth + 1)


def _refuse_lone_surrogates(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unreadable("lone surrogates are not text", path) from None


def _too_deep(path: str) -> Unreadable:
    return Unreadable(f"nested deeper than {MAX_DEPTH} levels", path)
