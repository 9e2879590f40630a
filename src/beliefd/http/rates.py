"""How many requests a principal makes."""

from collections import Counter
from math import ceil
from typing import Final

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.buckets import Buckets
from beliefd.steward.offload import RETRY_SECONDS

REASON: Final = "requests_per_second"
BURST_SECONDS: Final = 2.0
"""Who was silent may make the requests of so many seconds at once."""


class Rates:
    """Requests per principal, of all processes that share the buckets."""

    def __init__(self, buckets: Buckets | None = None) -> None:
        self._buckets = buckets or Buckets()
        self.refused = Counter({REASON: 0})

    def count(self, principal_id: str, per_second: int) -> None:
        """Count a request, or refuse it."""
        left = self._buckets.take(f"requests {principal_id}", per_second, per_second * BURST_SECONDS)
        if left < 1:
            self.refused[REASON] += 1
            raise _too_many(principal_id, per_second, (1 - left) / per_second)


def _too_many(principal_id: str, per_second: int, wait: float) -> BeliefdError:
    message = f"`{principal_id}` makes more than {per_second} requests per second"
    retry_after = max(RETRY_SECONDS, ceil(wait))
    details = {"limit": per_second, "reason": REASON, "retry_after": retry_after}
    return BeliefdError(Code.RATE_LIMITED, message, details)
