"""How many requests a principal makes: a bucket each, which fills with time and is emptied by requests."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.offload import RETRY_SECONDS

REASON: Final = "requests_per_second"
BURST_SECONDS: Final = 2.0
"""Who was silent may make the requests of so many seconds at once."""
FORGOTTEN: Final = 10_000
"""So many principals are remembered; a bucket that is full again says nothing."""


class Rates:
    """Requests per principal, in this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self.refused = Counter({REASON: 0})

    def count(self, principal_id: str, per_second: int) -> None:
        """Count a request, or refuse it."""
        now, full = self._clock(), per_second * BURST_SECONDS
        left, since = self._buckets.get(principal_id, (full, now))
        left = min(full, left + (now - since) * per_second)
        if left < 1:
            self._buckets[principal_id] = (left, now)
            self.refused[REASON] += 1
            raise _too_many(principal_id, per_second)
        if principal_id not in self._buckets and len(self._buckets) >= FORGOTTEN:
            self._forget(now, full, per_second)
        self._buckets[principal_id] = (left - 1, now)

    def _forget(self, now: float, full: float, per_second: int) -> None:
        """Drop the buckets that have filled up since; if none has, those that are fullest will have soon."""
        levels = {name: left + (now - since) * per_second for name, (left, since) in self._buckets.items()}
        kept = sorted(levels, key=levels.__getitem__)[: FORGOTTEN // 2]
        self._buckets = {name: self._buckets[name] for name in kept if levels[name] < full}


def _too_many(principal_id: str, per_second: int) -> BeliefdError:
    message = f"`{principal_id}` makes more than {per_second} requests per second"
    details = {"limit": per_second, "reason": REASON, "retry_after": RETRY_SECONDS}
    return BeliefdError(Code.RATE_LIMITED, message, details)
