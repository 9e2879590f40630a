"""Processes of our own on this machine. One that dies ends the run it worked for, and another replaces it.

The pool of the standard library shares one pipe for all results: a worker that is killed while it writes
leaves it waiting for the rest for ever. Here each has a pipe of its own, whose end is the end of its worker.
"""

import asyncio
import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, Final

import numpy as np

from beliefd.experiments.executors.port import Block, Work, WorkerDied, drawn
from beliefd.experiments.plan import Floats
from beliefd.experiments.registry import templates

PRELOADED: Final = ["beliefd.experiments.executors.processes", "scipy.special"]
GOODBYE_SECONDS: Final = 5
GRACE_SECONDS: Final = 1.0
UNWANTED: Final = "unwanted"


class Worker:
    """A process that draws one block after the other, and the end of its pipe that is here."""

    def __init__(self, context: Any) -> None:
        self._here, there = context.Pipe()
        self.process = context.Process(target=serve, args=(there,), name="beliefd-worker", daemon=True)
        self.process.start()
        # INVARIANT: the worker alone holds the other end, so that its death is heard as the end of the pipe.
        there.close()

    @property
    def alive(self) -> bool:
        return not self._here.closed and self.process.is_alive()

    def draw(self, work: Work | None) -> Block:
        """Waits for the answer, or raises what drawing raised; EOFError and OSError mean that it died."""
        self._here.send(work)
        answer = self._here.recv()
        if isinstance(answer, Exception):
            raise answer
        shape, digest = answer
        values = np.empty(shape, dtype="<f8")
        _fill(self._here.fileno(), values)
        return Block(values, digest)

    def end(self) -> None:
        self.process.kill()
        self.process.join(GOODBYE_SECONDS)

    def forget(self) -> None:
        """Close our end, once nobody waits at it."""
        self._here.close()


class ProcessExecutor:
    """Workers come from a fork server, which has loaded NumPy once and shares no thread or lock with us."""

    name = "processes"

    def __init__(self, workers: int | None = None) -> None:
        self._count = workers or os.cpu_count() or 1
        self.width = 2 * self._count  # the second half waits, so that no worker ever does
        self.workers: list[Worker] = []
        self._idle: asyncio.Queue[Worker] | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._starting = asyncio.Lock()
        self._returning: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        await self._ready()

    async def _ready(self) -> "asyncio.Queue[Worker]":
        """The queue of those that have nothing to do; the first call makes them."""
        async with self._starting:
            if self._idle is not None:
                return self._idle
            self._threads = ThreadPoolExecutor(self._count, "beliefd-workers")
            idle: asyncio.Queue[Worker] = asyncio.Queue()
            loop = asyncio.get_running_loop()
            made = (loop.run_in_executor(self._threads, _warmed) for _ in range(self._count))
            self.workers = await asyncio.gather(*made)
            for worker in self.workers:
                idle.put_nowait(worker)
            self._idle = idle
            return idle

    async def draw(self, work: Work) -> Block:
        idle = await self._ready()
        worker = await idle.get()
        if not worker.alive:
            worker = self._replaced(worker)  # it died idle, of nobody's block
        answer = asyncio.get_running_loop().run_in_executor(self._threads, worker.draw, work)
        returning = asyncio.ensure_future(self._returned(worker, answer, idle))
        self._returning.add(returning)
        returning.add_done_callback(self._returning.discard)
        try:
            return await asyncio.shield(answer)
        except (EOFError, OSError):
            # INVARIANT: a block is not tried again: what killed one worker would kill the next.
            raise WorkerDied("a worker died") from None
        except asyncio.CancelledError:
            returning.set_name(UNWANTED)
            raise

    async def _returned(
        self, worker: Worker, answer: "asyncio.Future[Block]", idle: "asyncio.Queue[Worker]"
    ) -> None:
        """Back to the idle ones with a worker whose block is drawn, or with another if it died of it.

        A block that nobody wants any more is soon done; one that is not costs its worker.
        """
        while not answer.done():
            await asyncio.wait((answer,), timeout=GRACE_SECONDS)
            current = asyncio.current_task()
            if not answer.done() and current is not None and current.get_name() == UNWANTED:
                worker.end()
        died = isinstance(answer.exception(), EOFError | OSError)
        if self._idle is idle:
            idle.put_nowait(self._replaced(worker) if died else worker)

    def _replaced(self, worker: Worker) -> Worker:
        worker.end()
        worker.forget()
        fresh = Worker(_context())
        self.workers[self.workers.index(worker)] = fresh
        return fresh

    async def close(self) -> None:
        """Ends the workers; who still waits for a block is told that its worker died."""
        threads, self._threads, self._idle = self._threads, None, None
        for worker in self.workers:
            worker.end()
        if self._returning:
            await asyncio.wait(self._returning)
        if threads is not None:
            await asyncio.to_thread(threads.shutdown)
        for worker in self.workers:
            worker.forget()
        self.workers = []


def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def _warmed() -> Worker:
    """A worker that has loaded what blocks need, so that no run pays for it."""
    worker = Worker(_context())
    worker.draw(None)
    return worker


def serve(there: Connection) -> None:
    """A worker's life: it ends with the pipe, and so with the process that holds the other end."""
    # Ctrl-C goes to every process of a terminal; who started this one says when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            answer = _answer(there.recv())
            if isinstance(answer, Exception):
                there.send(answer)
            else:
                there.send((answer.values.shape, answer.digest))
                _pour(there.fileno(), answer.values)
        except (EOFError, OSError):
            return


# Numbers go as they are, from array to array: every copy between would take a tenth of a block's time.


def _pour(pipe: int, values: Floats) -> None:
    left = memoryview(values.reshape(-1).view(np.uint8).data)
    while left:
        left = left[os.write(pipe, left) :]


def _fill(pipe: int, values: Floats) -> None:
    left = memoryview(values.reshape(-1).view(np.uint8).data)
    while left:
        count = os.readv(pipe, [left])
        if not count:
            raise EOFError
        left = left[count:]


def _answer(work: Work | None) -> Block | Exception:
    if work is None:
        templates()
        return Block(np.empty((0, 0)), b"")
    try:
        return drawn(work)
    except Exception as error:
        return error
