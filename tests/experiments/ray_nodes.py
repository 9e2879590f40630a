"""A cluster here, and one of two nodes of which one is lost: a program of its own, prints what was seen.

Ray reads its settings when it is imported: so not before the executor has set them.
"""

import asyncio
import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

from beliefd.experiments.engine import Progress, run
from beliefd.experiments.executors.port import Block, Work, drawn
from beliefd.experiments.executors.ray import RayExecutor
from beliefd.kernel.experiments.plan import Budget, RunReport
from tests.experiments.support import frozen, ran, simulation

PATIENT = Budget(seconds=300, replicates=1_000_000)
EDGE = frozen("model_simulation", simulation(than=5 - 1.6448536269514722), budget=PATIENT, alpha=1e-12)
"""At the edge of what is claimed, nothing is decided early: every block is drawn."""


class Slow(RayExecutor):
    """Tasks that wait for a file, so that something happens while they run."""

    def __init__(self, address: str, gate: str) -> None:
        super().__init__(address)
        self._gate = gate

    async def start(self) -> None:
        import ray

        await super().start()
        gate = self._gate

        def waits(work: Work) -> Block:
            Path(f"{gate}.{os.getpid()}").touch()
            while not Path(gate).exists():
                time.sleep(0.05)
            return drawn(work)

        self._task = ray.remote(max_retries=0)(waits)


def listening() -> list[str]:
    """Addresses beyond loopback that this process and what it started listen on."""
    me = psutil.Process()
    found = [
        one.laddr.ip
        for process in (me, *me.children(recursive=True))
        for one in process.net_connections("inet")
        if one.status == psutil.CONN_LISTEN
    ]
    assert found
    return [ip for ip in found if ip.removeprefix("::ffff:") not in ("127.0.0.1", "::1")]


async def lost(cluster: Any, node: Any, gate: str) -> tuple[RunReport, list[Progress]]:
    """A run in whose middle a node is lost."""
    told: list[Progress] = []
    executor = Slow(cluster.address, gate)
    running = asyncio.ensure_future(run(EDGE, executor=executor, progress=told.append))
    await asyncio.to_thread(wait_for, Path(gate), 2)
    await asyncio.to_thread(cluster.remove_node, node, allow_graceful=False)
    await asyncio.to_thread(Path(gate).touch)
    return await running, told


async def cancelled(cluster: Any, gate: str) -> tuple[RunReport, float]:
    """A run that is cancelled while its tasks wait, and the share of processors that is free afterwards."""
    ray: Any = import_module("ray")
    asked = asyncio.Event()
    running = asyncio.ensure_future(run(EDGE, executor=Slow(cluster.address, gate), cancel=asked))
    await asyncio.to_thread(wait_for, Path(gate), 1)
    asked.set()
    report = await running
    for _ in range(600):
        free = ray.available_resources().get("CPU", 0.0)
        if free == ray.cluster_resources()["CPU"]:
            break
        await asyncio.sleep(0.1)
    return report, free / ray.cluster_resources()["CPU"]


def wait_for(gate: Path, tasks: int) -> None:
    """Until so many tasks have come to the gate."""
    while len(list(gate.parent.glob(f"{gate.name}.*"))) < tasks:
        time.sleep(0.05)


async def here() -> list[str]:
    """What a cluster listens on that is started without an address."""
    executor = RayExecutor(workers=1)
    await executor.start()
    try:
        return listening()
    finally:
        await executor.close()


def main(folder: str) -> None:
    beyond = asyncio.run(here())
    from ray.cluster_utils import Cluster

    ray: Any = import_module("ray")  # which is typed in parts only
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    node = cluster.add_node(num_cpus=1)
    ray.init(cluster.address, log_to_driver=False)
    beyond += listening()
    report, told = asyncio.run(lost(cluster, node, f"{folder}/lost"))
    ended, free = asyncio.run(cancelled(cluster, f"{folder}/cancelled"))
    seen: dict[str, Any] = {"same": report == ran(EDGE), "status": report.status, "failure": report.failure}
    seen |= {"told": len(told), "cancelled": ended.status, "free": free, "beyond loopback": beyond}
    print(json.dumps(seen))
    ray.shutdown()
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(sys.argv[1])
