"""How many requests are under way at once, in all and of one principal. One more is told to come back."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.offload import RETRY_SECONDS, too_busy


class Limit(Struct, frozen=True):
    """So many at once in all, and of one principal."""

    name: str
    what: str
    total: int
    each: int


REQUESTS: Final = Limit("requests", "requests", 2048, 512)
STREAMS: Final = Limit("streams", "answers that last", 1024, 128)
"""Live feeds, exports and batches."""


class Places:
    """What is under way, of one sort."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.refused = 0
        self._taken: Counter[str] = Counter()
        self.total = 0

    @contextmanager
    def of(self, principal_id: str) -> Iterator[None]:
        limit, taken = self.limit, self._taken
        if taken[principal_id] >= limit.each:
            self.refused += 1
            told = f"{limit.each} {limit.what} of yours are under way, and no more may be"
            details = {"retry_after": RETRY_SECONDS, "limit": limit.each, "reason": limit.name}
            raise BeliefdError(Code.RATE_LIMITED, told, details)
        if self.total >= limit.total:
            self.refused += 1
            raise too_busy(f"{limit.total} {limit.what} are under way, and no more may be")
        taken[principal_id] += 1
        self.total += 1
        try:
            yield
        finally:
            self.total -= 1
            taken[principal_id] -= 1
            if not taken[principal_id]:
                del taken[principal_id]
