"""Tasks that outlive the callers who asked for them."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """INVARIANT: what is started here is waited for before the store is closed."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def see_through(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it to its end, also if who waits for it goes away.

        A task that is cancelled cancels what it waits for: that must not be the work itself. What was started
        here is cancelled by nobody, and needs no second task.
        """
        if asyncio.current_task() in self._tasks:
            return await work
        return await asyncio.shield(self.start(work))

    async def finish(self) -> None:
        """Until nothing is under way: what ends may have started more."""
        while self._tasks:
            await asyncio.wait(self._tasks)
