"""One block after the other in a thread, so that the event loop stays free."""

import asyncio

from beliefd.experiments.executors.port import Block, Work, drawn


class SerialExecutor:
    name = "serial"
    width = 1

    async def start(self) -> None:
        """There is nothing to begin."""

    async def draw(self, work: Work) -> Block:
        return await asyncio.to_thread(drawn, work)

    async def close(self) -> None:
        """There is nothing to end."""
