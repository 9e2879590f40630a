"""The outside world in three functions: time, ids, chance. Nothing else in beliefd asks for them."""

import os
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def uuid7() -> str:
    """A time-ordered id (RFC 9562): 48 bits of milliseconds, then chance."""
    random = int.from_bytes(os.urandom(10), "big")
    value = (time.time_ns() // 1_000_000 & 0xFFFF_FFFF_FFFF) << 80 | random
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


class Outside(Struct, frozen=True):
    """Handed to the steward, so that tests can freeze it."""

    now: Callable[[], str] = now
    new_id: Callable[[], str] = uuid7
