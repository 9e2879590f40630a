"""The same digests from a Ray cluster of this machine, and failures as failures."""

import asyncio
from typing import Any

import pytest

from beliefd.client.operations import Operations
from beliefd.embedded import send
from beliefd.experiments.engine import run
from beliefd.experiments.executors.ray import RayExecutor
from beliefd.kernel.experiments.plan import RunReport
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.effects.runner import LOCAL, Runner
from beliefd.stores.memory import MemoryStore
from beliefd.testing.world import AGENT, ONTOLOGY
from tests.experiments.support import GOOD, PATIENT, frozen, ran, simulation

SETTINGS = {"RAY_AUTH_MODE": "disabled", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0", "RAY_USAGE_STATS_ENABLED": "0"}
NO_CODE: dict[str, Any] = {**simulation(), "model": {"language": "python", "source": "0" * 64}}

pytestmark = pytest.mark.slow


def test_a_ray_cluster_gives_the_same_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    plans = [frozen("bootstrap_ci", GOOD["bootstrap_ci"]), frozen("model_simulation", simulation())]
    missing = frozen("model_simulation", NO_CODE)

    async def on_ray() -> list[RunReport]:
        executor = RayExecutor(workers=2)
        await executor.start()
        try:
            return [await run(plan, executor=executor) for plan in (*plans, missing)]
        finally:
            await executor.close()

    *found, failed = asyncio.run(on_ray())
    assert found == [ran(plan) for plan in plans]
    assert (failed.status, failed.failure) == ("failed", "the model's code is not at hand")


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
