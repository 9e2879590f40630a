"""When to ask again: pauses that grow, until something is decided or the time is up."""

import time
from collections.abc import Iterator
from math import inf
from typing import Any, Final

Entry = dict[str, Any]
"""An entry of a ledger as it is on the wire."""
POLL_SECONDS: Final = 0.25
FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 2.0


def growing_pauses() -> Iterator[float]:
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(2 * pause, LONGEST_PAUSE)


def pauses_until_decided(approval_id: str, timeout: float | None) -> Iterator[float]:
    """Raises `TimeoutError` when the time is up."""
    deadline = inf if timeout is None else time.monotonic() + timeout
    for pause in growing_pauses():
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"approval `{approval_id}` is still pending after {timeout:g} seconds")
        yield min(pause, left)
