"""Which session a call comes from that somebody has announced: in memory, for minutes."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from beliefd.kernel.values import Principal

LAST_SECONDS: Final = 600.0
MOST: Final = 10_000


class Joins:
    """The newest announcement of each key, by the owner of who made it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._announced: OrderedDict[tuple[str, str], tuple[str, float]] = OrderedDict()

    def announce(self, who: Principal, join_key: str, session_id: str) -> None:
        self._announced[who.person, join_key] = (session_id, self._clock() + LAST_SECONDS)
        self._announced.move_to_end((who.person, join_key))
        while len(self._announced) > MOST:
            self._announced.popitem(last=False)

    def session_of(self, who: Principal, join_key: str) -> str | None:
        """INVARIANT: nobody learns what another owner's programs have announced."""
        session_id, until = self._announced.get((who.person, join_key), (None, 0.0))
        return session_id if self._clock() < until else None
