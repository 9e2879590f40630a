"""The outside world in three functions: the time, new ids, new salts. Nothing else asks for them."""

import os
import secrets
import time
from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct


def now() -> str:
    seconds, micros = divmod(time.time_ns() // 1_000, 1_000_000)
    return f"{_second(seconds)}.{micros:06}Z"


@lru_cache(2)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def uuid7() -> str:
    """A time-ordered id (RFC 9562, method 3): milliseconds, twelve bits of fractions of one, then chance."""
    millis, nanos = divmod(time.time_ns(), 1_000_000)
    # Without the fraction, sessions declared within one millisecond would be listed in any order.
    return f"{_stamp(millis)}-7{nanos * 4096 // 1_000_000:03x}-{_chance()}"


@lru_cache(2)
def _stamp(millis: int) -> str:
    stamp = f"{millis & 0xFFFF_FFFF_FFFF:012x}"
    return f"{stamp[:8]}-{stamp[8:]}"


_spare: list[str] = []
os.register_at_fork(after_in_child=_spare.clear)  # a child must not draw what its parent draws, too


def _chance() -> str:
    """The random end of an id. The system is asked for many at once: a call for each would cost more than all
    the rest of an id, and hand the interpreter to another thread."""
    try:
        return _spare.pop()
    except IndexError:
        digits = os.urandom(8 * 256).hex()
        ends = [_end(digits[at : at + 16]) for at in range(0, len(digits), 16)]
        _spare.extend(ends[1:])
        return ends[0]


def _end(digits: str) -> str:
    return f"{'89ab'[int(digits[0], 16) & 0x3]}{digits[1:4]}-{digits[4:]}"


def salt() -> str:
    """What nobody can guess: 32 random bytes, in hex."""
    return secrets.token_hex(32)


class Environment(Struct, frozen=True):
    """Handed to the steward, so that tests can freeze it."""

    now: Callable[[], str] = now
    new_id: Callable[[], str] = uuid7
    new_salt: Callable[[], str] = salt
