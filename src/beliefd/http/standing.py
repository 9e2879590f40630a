"""Answers that last: who takes them is judged again meanwhile, and cut off when it may no longer."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from beliefd.kernel.errors import BeliefdError
from beliefd.protocol.operations import Operation
from beliefd.steward.call import Caller
from beliefd.steward.dispatch import authorise
from beliefd.stores.base import StorageUnavailable

JUDGE_SECONDS: Final = 0.5
"""So often all that listen are judged again, with one look into the store for all of them."""

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

    def __init__(self, refresh: Callable[[], Awaitable[None]]) -> None:
        self._refresh = refresh
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
        while self._listeners:
            await asyncio.sleep(JUDGE_SECONDS)
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
