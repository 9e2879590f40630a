"""Questions that take a whole ledger to answer: they go on by themselves, and tell how far they are."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

from beliefd.wanted import telling

FEW: Final = 250
"""Events. INVARIANT: nobody waits for more of them than this before a page: so whatever an event costs, a
page of a long ledger takes no more than some three times as long as one of a hundred events."""
PATIENCE: Final = 0.5
"""Seconds: nor longer than this, should the question wait for its turn."""
KEPT_SECONDS: Final = 30.0
"""So long a question goes on, and its answer is kept, for a page that has not come back for it."""
EACH: Final = 4
MOST: Final = 16
"""Questions under way, of one person and in all. Whoever asks more is told that they wait."""
Ask = Callable[[], Awaitable[Any]]


class Reading(Struct, frozen=True):
    """In the place of an answer: so many events were read for it so far."""

    events: int


class Going(Struct, frozen=True):
    """What a page shows of a question under way: how far it is, of how many events, if that is known."""

    events: int
    most: int | None


def going_on(found: Any, most: int | None) -> dict[str, Any]:
    """For a page: what was found, if anything was, and what is still going on, if anything is."""
    if isinstance(found, Reading):
        return {"found": None, "going": Going(found.events, most and max(most, found.events))}
    return {"found": found, "going": None}


class Question:
    """One that is under way."""

    def __init__(self, who: str, ask: Ask) -> None:
        self.who = who
        self.events = 0
        self._asked = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._seen = asyncio.Event()
        self.task = asyncio.ensure_future(self._answer(ask))
        self.task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _answer(self, ask: Ask) -> Any:
        try:
            with telling(self._tell):
                return await ask()
        finally:
            self._seen.set()

    def _tell(self, events: int) -> None:
        before, self.events = self.events, events
        if before < FEW <= events:
            self._loop.call_soon_threadsafe(self._seen.set)

    async def looked_at(self) -> None:
        """Until it is answered, or can be seen to take long."""
        self._asked = time.monotonic()
        # Nothing between the two: each step of the loop is another piece of the ledger that is waited for.
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._seen.wait()

    @property
    def is_left(self) -> bool:
        return time.monotonic() - self._asked > KEPT_SECONDS


class Questions:
    """By what is asked, and by whom. INVARIANT: nobody is told of what somebody else asked."""

    def __init__(self) -> None:
        self._known: dict[bytes, Question] = {}

    async def of(self, who: str, key: bytes, ask: Ask) -> Any | Reading:
        """The answer, or how far it is. `key` is all of the question, with all that its asker may."""
        self._forget_what_is_left()
        question = self._known.get(key)
        if question is None:
            if len(self._known) >= MOST or sum(one.who == who for one in self._known.values()) >= EACH:
                return Reading(0)
            question = self._known[key] = Question(who, ask)
        await question.looked_at()
        if not question.task.done():
            return Reading(question.events)
        self._known.pop(key, None)
        return question.task.result()

    def _forget_what_is_left(self) -> None:
        for key in [key for key, one in self._known.items() if one.is_left]:
            self._known.pop(key).task.cancel()
