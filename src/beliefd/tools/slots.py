"""Places for functions that run: so many in all, and of those a fair share for everybody."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from msgspec import Struct

MAX_RUNNING: Final = 64
"""So many functions may run at once; those that hang count too."""
AGED: Final = 8
"""Whoever was passed over so often waits one class higher."""


class Busy(RuntimeError):
    """Too many functions run, or hang, for another one."""


class Place(Struct):
    """A place that is kept for a call until it runs. What then runs gives it back itself."""

    who: str
    used: bool = False


class Waiting(Struct, eq=False):
    """A call that waits for a place: whose it is, in which class, since when, and how often another that came
    later got one."""

    who: str
    rank: int
    came: int
    loop: asyncio.AbstractEventLoop
    granted: "asyncio.Future[None]"
    passed: int = 0

    @property
    def urgency(self) -> int:
        """INVARIANT: it rises without bounds, so that whoever waits gets a turn, whatever comes meanwhile."""
        return self.rank - self.passed // AGED


kept_place: Final[ContextVar[Place | None]] = ContextVar("kept_place", default=None)
"""The place that is kept for the call which runs in this context."""


class Slots:
    """Nobody holds more places than are free, so that whoever has none finds one.

    One caller alone gets half of them, a second one half of what is left. Those who wait for a place get it
    in the order of their classes; within a class, who holds the fewest comes first.
    """

    def __init__(self, places: int = MAX_RUNNING) -> None:
        self._places = places
        self._held: Counter[str] = Counter()
        self._waiting: list[Waiting] = []
        self._came = 0
        self._lock = threading.Lock()

    def take(self, who: str) -> None:
        kept = kept_place.get()
        if kept is not None and not kept.used:
            kept.used = True
            return
        with self._lock:
            free = self._free()
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
        self._grant()

    @contextmanager
    def held(self, who: str) -> Iterator[None]:
        self.take(who)
        try:
            yield
        finally:
            self.give_back(who)

    async def kept(self, who: str, rank: int) -> Place:
        """Wait for a place, in the class of this rank, and keep it."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._came += 1
            waiting = Waiting(who, rank, self._came, loop, loop.create_future())
            self._waiting.append(waiting)
        self._grant()
        try:
            await waiting.granted
        except asyncio.CancelledError:
            self._give_up(waiting)
            raise
        return Place(who)

    def leave(self, place: Place | None) -> None:
        """Give up a place that nothing has run in."""
        if place is not None and not place.used:
            place.used = True
            self.give_back(place.who)

    def waiting(self) -> Counter[int]:
        """How many wait, by the rank of their class."""
        with self._lock:
            return Counter(one.rank for one in self._waiting)

    def _give_up(self, waiting: Waiting) -> None:
        with self._lock:
            still_waits = waiting in self._waiting
            if still_waits:
                self._waiting.remove(waiting)
        if not still_waits:
            self.give_back(waiting.who)

    def _free(self) -> int:
        return self._places - self._held.total()

    def _grant(self) -> None:
        """Give what is free to who is next. Places are given back in threads, where no future is touched."""
        while (chosen := self._chosen()) is not None:
            try:
                chosen.loop.call_soon_threadsafe(_settle, chosen.granted)
            except RuntimeError:  # its loop is gone, and who waited with it
                with self._lock:
                    self._held[chosen.who] -= 1

    def _chosen(self) -> Waiting | None:
        with self._lock:
            free = self._free()
            eligible = [one for one in self._waiting if self._held[one.who] < free]
            if not eligible:
                return None
            chosen = min(eligible, key=lambda one: (one.urgency, self._held[one.who], one.came))
            for one in eligible:
                one.passed += one.came < chosen.came
            self._waiting.remove(chosen)
            self._held[chosen.who] += 1
            return chosen


def _settle(granted: "asyncio.Future[None]") -> None:
    if not granted.done():
        granted.set_result(None)


slots: Final = Slots()
"""Those of this process."""
