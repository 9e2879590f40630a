"""Places for functions that run: so many in all, and of those a fair share for everybody."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MAX_RUNNING: Final = 64
"""So many functions may run at once; those that hang count too."""


class Busy(RuntimeError):
    """Too many functions run, or hang, for another one."""


class Slots:
    """Nobody holds more places than are free, so that whoever has none finds one.

    One caller alone gets half of them, a second one half of what is left.
    """

    def __init__(self, places: int = MAX_RUNNING) -> None:
        self._places = places
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, who: str) -> None:
        with self._lock:
            free = self._places - self._held.total()
            if free <= 0:
                raise Busy(f"{self._places} calls run or hang already")
            if self._held[who] >= free:
                raise Busy(f"{self._held[who]} calls of `{who}` run or hang already; the rest is for others")
            self._held[who] += 1

    def take_over(self, who: str) -> None:
        """For work that ends what has begun: it is counted, and not refused."""
        with self._lock:
            self._held[who] += 1

    def give_back(self, who: str) -> None:
        with self._lock:
            self._held[who] -= 1
            if not self._held[who]:
                del self._held[who]

    @contextmanager
    def held(self, who: str) -> Iterator[None]:
        self.take(who)
        try:
            yield
        finally:
            self.give_back(who)


slots: Final = Slots()
"""Those of this process."""
