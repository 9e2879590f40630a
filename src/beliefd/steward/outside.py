"""The outside world in three functions: time, ids, chance. Nothing else in beliefd asks for them."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct


def now() -> str:
    # Not strftime: it looks at the time zone file on every call.
    return datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def uuid7() -> str:
    """A time-ordered id (RFC 9562): 48 bits of milliseconds, then chance."""
    millis = time.time_ns() // 1_000_000 & 0xFFFF_FFFF_FFFF
    digits = f"{millis:012x}{os.urandom(10).hex()}"
    variant = "89ab"[int(digits[16], 16) & 0x3]
    return f"{digits[:8]}-{digits[8:12]}-7{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


class Outside(Struct, frozen=True):
    """Handed to the steward, so that tests can freeze it."""

    now: Callable[[], str] = now
    new_id: Callable[[], str] = uuid7
