"""How many bundles each principal has submitted of late."""

import time
from collections import deque
from typing import Final

from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.steward.buckets import Buckets

MOST_SPEAKERS: Final = 10_000
"""Principals of whom it is known when they spoke, and those who did within the window of now."""


class Submissions:
    """Counts here, and about over all processes that share a store."""

    def __init__(self, buckets: Buckets) -> None:
        self._spoken: dict[str, deque[float]] = {}
        self._buckets = buckets

    def count(self, command: object, principal: Principal, policy: Policy) -> int:
        """How many bundles this principal submitted in the window, before this one."""
        if not isinstance(command, SubmitClaims):
            return 0
        now, window = time.monotonic(), policy.security.rate_window_seconds
        if principal.id not in self._spoken and len(self._spoken) >= MOST_SPEAKERS:
            # Who said nothing for a whole window counts as nobody: it may be forgotten.
            self._spoken = {name: at for name, at in self._spoken.items() if at[-1] > now - window}
        spoken = self._spoken.setdefault(principal.id, deque())
        while spoken and spoken[0] <= now - window:
            spoken.popleft()
        spoken.append(now)
        # Past the limit only the latest can matter, however long the window is.
        limit = policy.security.rate_limit
        while len(spoken) > limit + 1:
            spoken.popleft()
        return max(len(spoken) - 1, self._spoken_anywhere(principal, limit, window))

    def are_over(self, principal: Principal, policy: Policy) -> bool:
        """Has this principal submitted so many bundles in the window that one more is not looked at?"""
        since = time.monotonic() - policy.security.rate_window_seconds
        spoken = self._spoken.get(principal.id, ())
        return sum(at > since for at in spoken) >= policy.security.rate_limit

    def _spoken_anywhere(self, principal: Principal, limit: int, window: float) -> int:
        """About how many, over all processes that share a store."""
        if not self._buckets.are_shared:
            return 0
        return int(limit - self._buckets.take(f"claims {principal.id}", limit / window, limit))
