"""Threads for one kind of work, with a bounded queue in which nobody waits behind all of another's work."""

import asyncio
import contextlib
import os
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Final, TypeVar

from msgspec import Struct

from beliefd.wanted import given_up_when

T = TypeVar("T")
OWN_SHARE: Final = 4
"""One principal may fill a quarter of a queue."""


class Full(Exception):
    """The queue, or the asker's share of it, is full."""


class Limits(Struct, frozen=True):
    """How much of a kind of work may run, how much may wait, and how long it may take altogether."""

    threads: int
    waiting: int
    seconds: float | None = None

    @property
    def own_threads(self) -> int:
        """Of several threads, one principal leaves one to the others."""
        return max(1, self.threads - 1)

    @property
    def own_waiting(self) -> int:
        return max(1, self.waiting // OWN_SHARE)


class Job:
    """Work that somebody waits for, until it is `over`."""

    def __init__(self, asker: str, work: Callable[[], Any]) -> None:
        self.asker = asker
        self.over = False
        self._work = work
        self._context = copy_context()
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Any] | None = self._loop.create_future()

    def do(self) -> None:
        value: Any = None
        error: Exception | None = None
        try:
            value = self._context.run(self._watched)
        except StopIteration:  # a future cannot carry it
            error = RuntimeError("the work raised StopIteration")
        except Exception as raised:
            error = raised
        except BaseException as raised:  # SystemExit would end the event loop that awaits it
            error = RuntimeError(f"the work raised {type(raised).__name__}")
        with contextlib.suppress(RuntimeError):  # the loop is gone, and who asked with it
            self._loop.call_soon_threadsafe(self._settle, value, error)
        error = None  # it holds this frame, which would hold it

    def _watched(self) -> Any:
        with given_up_when(lambda: self.over):
            return self._work()

    def _settle(self, value: Any, error: Exception | None) -> None:
        if self.answer is None or self.answer.done():
            return
        if error is None:
            self.answer.set_result(value)
        else:
            self.answer.set_exception(error)

    def end(self) -> bool:
        """Nobody waits for it any more; True if it was answered.

        INVARIANT: it lets go of its answer. An error that was raised holds the frames that it passed, those
        hold the job and what it works on: a body would stay until the next garbage collection.
        """
        answer, self.answer, self.over = self.answer, None, True
        return answer is not None and answer.done() and not answer.cancelled()


class Pool:
    """The threads are daemons: work that hangs keeps its place, and never the process from ending."""

    def __init__(self, name: str, limits: Limits) -> None:
        self.name = name
        self.limits = limits
        self._fresh()
        _all.add(self)

    def _fresh(self) -> None:
        self._changed = threading.Condition()
        self._queues: dict[str, deque[Job]] = {}
        """Who has work waiting, in the order of their turns."""
        self._running: Counter[str] = Counter()
        self._threads = 0
        self._idle = 0

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    @property
    def running(self) -> int:
        return self._running.total()

    async def run(self, asker: str, work: Callable[..., T], *args: Any) -> T:
        job = Job(asker, lambda: work(*args))
        self._put(job)
        try:
            return await job.answer  # type: ignore[no-any-return, misc]
        finally:
            if not job.end():
                self._forget(job)
            del job

    def _put(self, job: Job) -> None:
        with self._changed:
            queue = self._queues.get(job.asker, ())
            if self.waiting >= self.limits.waiting:
                raise Full(f"{self.limits.waiting} wait already")
            if job.asker and len(queue) >= self.limits.own_waiting:
                raise Full(f"{self.limits.own_waiting} of yours wait already")
            self._queues.setdefault(job.asker, deque()).append(job)
            if self._idle < self.waiting and self._threads < self.limits.threads:
                self._threads += 1
                threading.Thread(target=self._serve, name=f"beliefd-{self.name}", daemon=True).start()
            self._changed.notify()

    def _forget(self, job: Job) -> None:
        """What nobody waits for any more leaves the queue, if it is still there."""
        with self._changed:
            queue = self._queues.get(job.asker)
            if queue is not None and job in queue:
                queue.remove(job)
                if not queue:
                    del self._queues[job.asker]

    def _serve(self) -> None:
        while True:
            job = self._next()
            job.do()
            with self._changed:
                self._running[job.asker] -= 1
                self._running += Counter()  # drops the names of those who have nothing left
                self._changed.notify()
            del job  # or it would stay here until there is another

    def _next(self) -> Job:
        with self._changed:
            self._idle += 1
            while (asker := self._whose_turn()) is None:
                self._changed.wait()
            self._idle -= 1
            queue = self._queues.pop(asker)
            job = queue.popleft()
            if queue:
                self._queues[asker] = queue  # at the end: the others have their turns first
            self._running[asker] += 1
            return job

    def _whose_turn(self) -> str | None:
        for asker in self._queues:
            if not asker or self._running[asker] < self.limits.own_threads:
                return asker
        return None


_all: "weakref.WeakSet[Pool]" = weakref.WeakSet()


def _after_fork() -> None:
    """A child has the pools, and none of their threads."""
    for pool in _all:
        pool._fresh()


os.register_at_fork(after_in_child=_after_fork)
