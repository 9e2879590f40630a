"""A Ray cluster, for experiments that are too large for one machine."""

import asyncio
from typing import Any

from beliefd.experiments.executors.port import Block, Work, WorkerDied, drawn
from beliefd.experiments.sandbox.errors import ModelFailed
from beliefd.kernel.errors import BeliefdError, Code


class RayExecutor:
    """Blocks as Ray tasks that are never tried again. Every node needs this package in the same version."""

    name = "ray"

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._address, self._workers = address, workers
        self._task: Any = None
        self.width = workers or 1

    async def start(self) -> None:
        if self._task is not None:
            return
        try:
            import ray
        except ImportError:
            told = "`ray` is not installed; `pip install 'beliefd[ray]'` brings it"
            raise BeliefdError(Code.INVALID_REQUEST, told) from None
        cluster: Any = ray  # which is typed in parts only
        if not cluster.is_initialized():
            local = {"num_cpus": self._workers, "include_dashboard": False} if self._address is None else {}
            await asyncio.to_thread(cluster.init, self._address, log_to_driver=False, **local)
        self.width = self._workers or max(1, int(cluster.cluster_resources().get("CPU", 1)))
        self._task = cluster.remote(max_retries=0)(drawn)

    async def draw(self, work: Work) -> Block:
        from ray.exceptions import RayError, RayTaskError

        try:
            return await asyncio.wrap_future(self._task.remote(work).future())
        except RayTaskError as error:
            if isinstance(error.cause, ModelFailed):
                raise error.cause from None
            raise
        except RayError:
            raise WorkerDied("a worker died") from None

    async def close(self) -> None:
        import ray

        if self._task is not None:
            self._task = None
            await asyncio.to_thread(ray.shutdown)
