"""A Ray cluster, for experiments that are too large for one machine."""

import asyncio
import os
from typing import Any, Final

from beliefd.experiments.executors.port import Block, Work, WorkerDied, drawn
from beliefd.experiments.sandbox.errors import ModelFailed
from beliefd.extras import install
from beliefd.kernel.errors import BeliefdError, Code

TRIES: Final = 3
"""A block is a function of its address: a second worker draws the same numbers. A model that kills its
workers kills no more than these."""
LOOPBACK_ONLY: Final = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""What Ray does by itself where firewalls would ask: a cluster of one machine listens on loopback alone."""


class RayExecutor:
    """Blocks as Ray tasks. Every node needs this package in the same version."""

    name = "ray"

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._address, self._workers = address, workers
        self._task: Any = None
        self.width = workers or 1

    async def start(self) -> None:
        if self._task is not None:
            return
        if self._address is None:
            os.environ.update(LOOPBACK_ONLY)  # read when ray is imported, here and by the processes it starts
        try:
            import ray
        except ImportError:
            told = f"`ray` is not installed; {install('ray')}"
            raise BeliefdError(Code.INVALID_REQUEST, told) from None
        cluster: Any = ray  # which is typed in parts only
        if not cluster.is_initialized():
            local = {"num_cpus": self._workers, "include_dashboard": False} if self._address is None else {}
            await asyncio.to_thread(cluster.init, self._address, log_to_driver=False, **local)
        self.width = self._workers or max(1, int(cluster.cluster_resources().get("CPU", 1)))
        # Ray's own retries are off: it would count neither how often nor for which block.
        self._task = cluster.remote(max_retries=0)(drawn)

    async def draw(self, work: Work) -> Block:
        """The block, drawn again elsewhere if its worker or its node is lost."""
        from ray.exceptions import RayError, RayTaskError

        for _ in range(TRIES):
            try:
                return await self._drawn(work)
            except RayTaskError as error:
                if isinstance(error.cause, ModelFailed):
                    raise error.cause from None
                raise
            except RayError:
                continue
        raise WorkerDied(f"{TRIES} workers died over one block")

    async def _drawn(self, work: Work) -> Block:
        import ray

        waiting = self._task.remote(work)
        try:
            return await asyncio.wrap_future(waiting.future())
        except asyncio.CancelledError:
            ray.cancel(waiting, force=True)  # nobody waits for it: its place is for others
            raise

    async def close(self) -> None:
        import ray

        if self._task is not None:
            self._task = None
            await asyncio.to_thread(ray.shutdown)
