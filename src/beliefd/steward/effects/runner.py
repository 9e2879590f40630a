"""What runs here right now: experiments under way in this process, how far they are, and how to stop them."""

import asyncio
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from beliefd.experiments.executors.port import Executor

LOCAL: Final = "local"
"""The address of a Ray cluster that is started here."""


class Underway(Struct):
    """A run that this process is making."""

    planned: int
    cancelled: asyncio.Event
    task: "asyncio.Task[None] | None" = None
    replicates: int = 0


class Runner:
    """The runs of one steward, by id, and the workers that make them, which are started when first needed.

    Without worker processes they are made in a thread: a process that starts others must be one of ours,
    because each of them imports its main module again. `ray` is the address of a cluster to use instead.
    """

    def __init__(self, workers: int = 0, ray: str | None = None) -> None:
        self.workers = workers
        self.ray = ray
        self.underway: dict[str, Underway] = {}
        self._executor: Executor | None = None

    @property
    def executor(self) -> "Executor":
        if self._executor is None:
            self._executor = self._made()
        return self._executor

    def _made(self) -> "Executor":
        if self.ray is not None:
            from beliefd.experiments.executors.ray import RayExecutor

            return RayExecutor(None if self.ray == LOCAL else self.ray, self.workers or None)
        from beliefd.experiments.executors.processes import ProcessExecutor
        from beliefd.experiments.executors.serial import SerialExecutor

        return ProcessExecutor(self.workers) if self.workers else SerialExecutor()

    def cancel(self, run_id: str) -> bool:
        """Ask a run to end; False if it is not made here."""
        if (one := self.underway.get(run_id)) is None:
            return False
        one.cancelled.set()
        return True

    def cancel_all(self) -> None:
        for run_id in list(self.underway):
            self.cancel(run_id)

    async def close(self) -> None:
        if self._executor is not None:
            await self._executor.close()
            self._executor = None
