"""The same digests from a Ray cluster of this machine, and failures as failures."""

import asyncio
from typing import Any

import pytest

from beliefd.experiments.engine import run
from beliefd.experiments.executors.ray import RayExecutor
from beliefd.kernel.firewall.experiments import RunReport
from tests.experiments.support import GOOD, frozen, ran, simulation

NO_CODE: dict[str, Any] = {**simulation(), "model": {"language": "python", "source": "0" * 64}}


@pytest.mark.slow
def test_a_ray_cluster_gives_the_same_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
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
