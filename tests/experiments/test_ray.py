"""The same digests from a Ray cluster of this machine, and failures as failures."""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.client.operations import Operations
from beliefd.embedded import send
from beliefd.experiments.engine import run
from beliefd.experiments.executors.port import Block, Work
from beliefd.experiments.executors.ray import RayExecutor
from beliefd.kernel.experiments.plan import Budget, Frozen, RunReport
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.effects.runner import LOCAL, Runner
from beliefd.stores.memory import MemoryStore
from beliefd.testing.world import AGENT, ONTOLOGY
from tests.experiments.support import GOOD, PATIENT, frozen, ran, simulation

SETTINGS = {"RAY_AUTH_MODE": "disabled", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0", "RAY_USAGE_STATS_ENABLED": "0"}
NO_CODE: dict[str, Any] = {**simulation(), "model": {"language": "python", "source": "0" * 64}}

EXEC = "def model(a):\n    exec('import random')\n    return a"
LONG = Budget(seconds=30, replicates=1_000_000)
CODE: dict[str, str] = {}

pytestmark = pytest.mark.slow


def in_python(source: str, budget: Budget = PATIENT) -> Frozen:
    name = hashlib.sha256(source.encode()).hexdigest()
    CODE[name] = source
    params = {**simulation(), "model": {"language": "python", "source": name}}
    return frozen("model_simulation", params, budget=budget, alpha=0.05 if budget is PATIENT else 1e-12)


def sources_of(plan: Frozen) -> dict[str, str]:
    name = plan.spec.params["model"].get("source", "") if "model" in plan.spec.params else ""
    return {name: CODE[name]} if name in CODE else {}


def short(plan: Frozen) -> Frozen:
    """With a budget that runs out before any task of a cluster can end."""
    return replace(plan, spec=replace(plan.spec, budget=Budget(seconds=1e-6)))


class Fickle:
    """A cluster whose tasks come out differently from the second on."""

    name = "fickle"

    def __init__(self, executor: RayExecutor) -> None:
        self._executor, self.width, self._drawn = executor, executor.width, 0

    async def start(self) -> None:
        await self._executor.start()

    async def draw(self, work: Work) -> Block:
        block = await self._executor.draw(work)
        self._drawn += 1
        return block if self._drawn == 1 else Block(block.values + 1, block.digest)

    async def close(self) -> None:
        """The cluster is another's."""


def test_a_ray_cluster_gives_the_same_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one cluster, because it takes a while to start: evidence of all kinds, and failures of all kinds."""
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    written, never = in_python("def model(a):\n    return a"), in_python(EXEC)
    # At the edge of what is claimed nothing is decided early: many blocks, up to the budget of replicates.
    edge = in_python(
        "def model(a):\n    return a - 5 + 1.6448536269514722", Budget(seconds=30, replicates=9_000)
    )
    plans = [
        frozen("bootstrap_ci", GOOD["bootstrap_ci"]),
        frozen("model_simulation", simulation()),
        frozen("model_simulation", simulation(than=5 - 1.6448536269514722), budget=LONG, alpha=1e-12),
        written,
        edge,
        never,
        frozen("model_simulation", NO_CODE),
    ]

    async def on_ray() -> tuple[list[RunReport], RunReport, RunReport]:
        executor = RayExecutor(workers=2)
        await executor.start()
        try:
            found = [await run(plan, executor=executor, sources=sources_of(plan)) for plan in plans]
            late = await run(short(written), executor=executor, sources=sources_of(written))
            return found, late, await run(written, executor=Fickle(executor), sources=sources_of(written))
        finally:
            await executor.close()

    found, late, fickle = asyncio.run(on_ray())
    assert found == [ran(plan, sources=sources_of(plan)) for plan in plans]
    assert [one.status for one in found] == ["completed"] * 5 + ["failed"] * 2
    assert found[2].replicates == LONG.replicates
    assert (found[3].diagnostics["repeated_replicates"], found[3].replicates) == (2_000, 2_000)
    assert (found[4].diagnostics["repeated_replicates"], found[4].replicates) == (2_048 + 256, 9_000)
    assert "uses `exec`" in found[5].failure
    assert found[6].failure == "the model's code is not at hand"
    assert (late.status, late.failure) == ("failed", "the budget of time is used up")
    assert fickle.failure.startswith("irreproducible: ")


def test_a_steward_with_a_cluster_runs_on_it_and_another_reproduces_it_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    spec = {"claim_id": "c", "template": "bootstrap_ci", "params": GOOD["bootstrap_ci"]}
    spec["budget"] = {"seconds": PATIENT.seconds}  # a cluster that has just started is slow at first

    async def story() -> tuple[Any, Any]:
        store = MemoryStore()
        here, elsewhere = bootstrap(store, runner=Runner(2, LOCAL)), bootstrap(store)
        declared = await send(here, AGENT, Operations.declare_session(["a"], ONTOLOGY))
        session_id = declared.session_id
        planned = await send(here, AGENT, Operations.design_experiment(session_id, spec=spec))
        done = await send(here, AGENT, Operations.run_experiment(session_id, planned.experiment_id))
        assert here.runner.executor.name == "ray"
        await here.runner.close()
        again = Operations.reproduce_experiment(session_id, planned.experiment_id)
        reproduced = await send(elsewhere, AGENT, again)
        await here.close()
        return done, reproduced

    done, reproduced = asyncio.run(story())
    assert (done.run.status, done.run.outcome) == ("completed", "support")
    assert reproduced.reproduced


def test_a_lost_node_costs_its_blocks_and_not_the_run(tmp_path: Path) -> None:
    """Two nodes on loopback: the same bits as without them, progress, and room after a cancelled run."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.experiments.ray_nodes", str(tmp_path)],
        env={**os.environ, **SETTINGS},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    seen = json.loads(ended.stdout.splitlines()[-1])
    assert seen.pop("told") > 10
    assert seen == {
        "same": True,
        "status": "completed",
        "failure": "",
        "cancelled": "cancelled",
        "free": 1.0,
        "beyond loopback": [],
    }
