"""A pool of processes on this machine. A worker that dies ends the runs it worked for, not the pool."""

import asyncio
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Final

from beliefd.experiments.executors.port import Block, Work, WorkerDied, drawn
from beliefd.experiments.registry import templates

PRELOADED: Final = ["beliefd.experiments.executors.processes", "scipy.special"]


class ProcessExecutor:
    """Workers come from a fork server, which has loaded NumPy once and shares no thread or lock with us."""

    name = "processes"

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or os.cpu_count() or 1
        self.width = 2 * self._workers  # the second half waits, so that no worker ever does
        self._pool: ProcessPoolExecutor | None = None

    async def start(self) -> None:
        if self._pool is not None:
            return
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        self._pool = ProcessPoolExecutor(self._workers, mp_context=context)
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(self._pool, warm) for _ in range(self._workers)))

    async def draw(self, work: Work) -> Block:
        await self.start()
        pool = self._pool
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, drawn, work)
        except BrokenProcessPool:
            # INVARIANT: a block is not tried again: what killed one worker would kill the next.
            if self._pool is pool:
                await self.close()
            raise WorkerDied("a worker died") from None

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)


def warm() -> int:
    """Load what blocks need, so that no run pays for it."""
    templates()
    return os.getpid()
