"""Bodies that are being read, parsed or dealt with, and large answers that are not taken yet: how many bytes
they are, together and per principal.

What a body becomes takes several times its bytes, until it is answered. So bytes are taken before they are
read, and given back after the last byte of the answer. A large answer to a question takes its own beside.
"""

from collections import Counter
from typing import Final

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.offload import RETRY_SECONDS, too_busy

OWN: Final = "bytes_in_flight"
ALL: Final = "all_bytes_in_flight"
MAX_TOTAL: Final = 512 * 1024 * 1024
"""Bytes of all of them together; small verbs, which are answered directly, are not counted."""


class InFlight:
    """How many bytes there are, and whose."""

    def __init__(self, most: int = MAX_TOTAL) -> None:
        self.most = most
        self.total = 0
        self.refused = Counter({OWN: 0, ALL: 0})
        self._by_principal: Counter[str] = Counter()

    def of(self, principal_id: str) -> int:
        return self._by_principal[principal_id]

    def take(self, principal_id: str, own: int, size: int, share: int) -> None:
        """Count `size` more bytes for a request that holds `own`, or refuse them.

        INVARIANT: one body alone may be as large as its operation allows, whatever the share is.
        """
        held = self._by_principal[principal_id]
        if held > own and held + size > share:
            self.refused[OWN] += 1
            raise _over_the_share(principal_id, share)
        if self.total > own and self.total + size > self.most:
            self.refused[ALL] += 1
            raise too_busy(f"bodies and answers of more than {self.most} bytes are under way; try again")
        self.total += size
        self._by_principal[principal_id] += size

    def give_back(self, principal_id: str, size: int) -> None:
        self.total -= size
        self._by_principal[principal_id] -= size
        if not self._by_principal[principal_id]:
            del self._by_principal[principal_id]


class Holding:
    """What one request holds of it."""

    __slots__ = ("_in_flight", "_principal_id", "_share", "size")

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._principal_id = ""
        self._share = 0
        self.size = 0

    def belongs_to(self, principal_id: str, share: int) -> None:
        """Nothing is taken before it is known for whom, and how much they may hold."""
        self._principal_id, self._share = principal_id, share

    def up_to(self, size: int) -> None:
        """Hold so many bytes, or refuse."""
        if size > self.size:
            self._in_flight.take(self._principal_id, self.size, size - self.size, self._share)
            self.size = size

    def release(self) -> None:
        if self.size:
            self._in_flight.give_back(self._principal_id, self.size)
            self.size = 0


def _over_the_share(principal_id: str, share: int) -> BeliefdError:
    message = f"`{principal_id}` has {share} bytes of bodies and answers under way; wait for one of them"
    details = {"path": "$", "limit": share, "reason": OWN, "retry_after": RETRY_SECONDS}
    return BeliefdError(Code.RATE_LIMITED, message, details)
