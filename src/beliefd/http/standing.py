"""Answers that last: who takes them is judged again meanwhile, and cut off when it may no longer.

What is done to tokens is an event of the server's own ledger: it is heard at once. What another process does,
and what stands in files, is looked at now and then.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.system.state import SYSTEM
from beliefd.protocol.operations import Operation
from beliefd.steward.call import Caller
from beliefd.steward.dispatch import authorise
from beliefd.steward.feeds import Feeds
from beliefd.stores.base import StorageUnavailable

JUDGE_SECONDS: Final = 0.5
"""So often all that listen are judged again, with one look into the store for all of them."""
LEAST_SECONDS: Final = 0.05
"""Nor more often than this: what is heard may come in numbers."""

Judge = Callable[[], Awaitable[Caller]]
"""Who it is, as of now; refuses whoever it is no longer."""


class Listener:
    """Somebody who takes an answer bit by bit. `over` is set once that is no longer allowed."""

    def __init__(self, judge: Judge, operation: Operation, caller: Caller) -> None:
        self.judge = judge
        self.operation = operation
        self.caller = caller
        self.over = asyncio.Event()


class Standing:
    """All that listen to one server."""

    def __init__(self, refresh: Callable[[], Awaitable[None]], feeds: Feeds) -> None:
        self._refresh = refresh
        self._feeds = feeds
        self._listeners: set[Listener] = set()
        self._judging: asyncio.Task[None] | None = None

    @contextmanager
    def of(self, judge: Judge, operation: Operation, caller: Caller) -> Iterator[asyncio.Event]:
        listener = Listener(judge, operation, caller)
        self._listeners.add(listener)
        if self._judging is None or self._judging.done():
            self._judging = asyncio.get_running_loop().create_task(self._judge_again())
        try:
            yield listener.over
        finally:
            self._listeners.discard(listener)

    async def _judge_again(self) -> None:
        with self._feeds.growth(SYSTEM) as grown:
            while self._listeners:
                with suppress(TimeoutError):
                    await asyncio.wait_for(grown.wait(), JUDGE_SECONDS)
                grown.clear()
                await self._judge_all()
                await asyncio.sleep(LEAST_SECONDS)

    async def _judge_all(self) -> None:
        with suppress(StorageUnavailable):  # who was allowed before the store went away may wait for it
            await self._refresh()
            for listener in tuple(self._listeners):
                if not await self._may_stay(listener):
                    listener.over.set()

    async def _may_stay(self, listener: Listener) -> bool:
        try:
            caller = await listener.judge()
            authorise(listener.operation, caller.principal)
        except BeliefdError:
            return False
        return caller == listener.caller
