"""A run ends in a report whatever happens, and its numbers are the same on every executor."""

import asyncio
import math
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from beliefd.experiments.engine import Progress, planned, run
from beliefd.experiments.executors.port import Block, Work, drawn
from beliefd.experiments.executors.processes import ProcessExecutor
from beliefd.experiments.executors.serial import SerialExecutor
from beliefd.experiments.registry import template
from beliefd.kernel.canonical import canonical
from beliefd.kernel.experiments.params import PARAMS
from beliefd.kernel.experiments.plan import Budget, Frozen, RunReport, TemplateName
from tests.experiments.support import GOOD, frozen, ran, simulation

# At the edge of what is claimed nothing is decided early, so that all replicates are drawn.
LONG = Budget(seconds=30, replicates=1_000_000)
EDGE = simulation(than=5 - 1.6448536269514722)


def edge(budget: Budget = LONG) -> Frozen:
    """Claimed in 95 % of all draws, and true in just as many."""
    return frozen("model_simulation", EDGE, budget=budget, alpha=1e-12)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def pool(loop: asyncio.Runner) -> Iterator[ProcessExecutor]:
    executor = ProcessExecutor(2)
    loop.run(executor.start())
    yield executor
    loop.run(executor.close())


@pytest.mark.parametrize("name", PARAMS)
def test_evidence_is_byte_identical_on_all_executors(
    name: TemplateName, loop: asyncio.Runner, pool: ProcessExecutor
) -> None:
    plan = frozen(name, GOOD[name])
    here, there = ran(plan), loop.run(run(plan, executor=pool))
    assert here == there
    assert here.blocks == there.blocks != ""
    assert here.result_hash == there.result_hash


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30),
    st.integers(0, 2**53 - 1),
    st.integers(100, 2_000),
)
def test_any_bootstrap_is_byte_identical_on_all_executors(
    loop: asyncio.Runner, pool: ProcessExecutor, data: list[float], seed: int, draws: int
) -> None:
    plan = frozen("bootstrap_ci", {"data": data, "n_bootstrap": draws}, seed=seed)
    assert ran(plan).result_hash == loop.run(run(plan, executor=pool)).result_hash


@pytest.mark.slow
def test_long_runs_of_many_blocks_are_byte_identical_too(loop: asyncio.Runner, pool: ProcessExecutor) -> None:
    plan = edge()
    here, there = ran(plan), loop.run(run(plan, executor=pool))
    assert here.replicates == 1_000_000
    assert here == there


def test_a_run_again_with_the_same_seed_has_the_same_hash_and_another_seed_another() -> None:
    plan = frozen("bootstrap_ci", GOOD["bootstrap_ci"])
    assert ran(plan).result_hash == ran(plan).result_hash
    assert ran(plan).blocks != ran(frozen("bootstrap_ci", GOOD["bootstrap_ci"], seed=8)).blocks


def nothing_concluded(report: RunReport) -> bool:
    return (report.outcome, report.error_level, report.result, report.checks) == ("unresolved", 1.0, {}, ())


def test_a_worker_that_dies_is_a_recorded_failure_and_the_next_run_goes_on(loop: asyncio.Runner) -> None:
    async def killed() -> tuple[RunReport, RunReport]:
        executor = ProcessExecutor(2)
        await executor.start()
        victims = [executor.workers[0].process.pid]
        try:
            dead = await run(edge(), executor=executor, progress=lambda _: kill(victims))
            return dead, await run(frozen("bootstrap_ci", GOOD["bootstrap_ci"]), executor=executor)
        finally:
            await executor.close()

    def kill(pids: list[int | None]) -> None:
        """Once: what has that number later is somebody else."""
        for pid in pids:
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
        pids.clear()

    dead, after = loop.run(killed())
    assert (dead.status, dead.failure) == ("failed", "a worker died")
    assert nothing_concluded(dead)
    assert (after.status, after.outcome) == ("completed", "support")


def test_a_cancelled_run_says_so_and_concludes_nothing() -> None:
    async def cancelled() -> RunReport:
        asked = asyncio.Event()
        return await run(edge(), executor=SerialExecutor(), progress=lambda _: asked.set(), cancel=asked)

    report = asyncio.run(cancelled())
    assert (report.status, report.failure) == ("cancelled", "the run was cancelled")
    assert nothing_concluded(report)


def test_a_cancelled_run_leaves_no_block_behind() -> None:
    begun, ended = [], []

    class Hanging(SerialExecutor):
        width = 3

        async def draw(self, work: Work) -> Block:
            begun.append(work.first)
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append(work.first)
            raise AssertionError("nobody cancelled it")

    async def cancelled() -> RunReport:
        asked = asyncio.Event()
        asyncio.get_running_loop().call_later(0.02, asked.set)
        return await run(edge(), executor=Hanging(), cancel=asked)

    assert asyncio.run(cancelled()).status == "cancelled"
    assert len(begun) == 3
    assert sorted(ended) == begun


def test_a_run_past_its_time_has_failed() -> None:
    report = ran(edge(Budget(seconds=0.05, replicates=10_000_000)))
    assert (report.status, report.failure) == ("failed", "the budget of time is used up")
    assert nothing_concluded(report)


def test_progress_is_told_block_by_block() -> None:
    heard: list[Progress] = []
    report = ran(
        frozen("bootstrap_ci", {**GOOD["bootstrap_ci"], "n_bootstrap": 2_000}), progress=heard.append
    )
    assert report.status == "completed"
    assert heard[0] == Progress("main", 2_000, 2_000)
    assert {one.arm for one in heard} == {"main", "root1", "root2", "root3", "toy", "order"}


def test_a_plan_frozen_under_other_code_is_not_run() -> None:
    plan = replace(frozen("bootstrap_ci", GOOD["bootstrap_ci"]), code_hash="0" * 64)
    report = ran(plan)
    assert (report.status, report.failure) == ("failed", "the template's code is not the one that was frozen")
    assert nothing_concluded(report)


def test_blocks_beyond_the_one_that_decides_leave_no_trace() -> None:
    """However many blocks are drawn ahead, only those up to the decision are in the digest."""

    class Ahead(SerialExecutor):
        width = 5

    plan = frozen("model_simulation", simulation(mean=3.0), budget=LONG)
    assert ran(plan, Ahead()) == ran(plan)


def test_a_block_that_breaks_is_a_failure_and_no_exception() -> None:
    class Broken(SerialExecutor):
        async def draw(self, work: Work) -> Block:
            raise FloatingPointError("secret words of a model")

    report = ran(frozen("bootstrap_ci", GOOD["bootstrap_ci"]), Broken())
    assert (report.status, report.failure) == (
        "failed",
        "the template came to no conclusion: FloatingPointError",
    )


def test_equal_numbers_have_equal_digests_whatever_their_signs_and_payloads() -> None:
    plan = frozen("model_simulation", simulation("log(a - 5)"))
    arm = template("model_simulation").main(planned(plan))
    assert arm is not None
    one, other = (drawn(Work(planned(plan), arm, 0, 100)) for _ in range(2))
    assert one.digest == other.digest
    assert any(math.isnan(value) for value in one.values[:, 0])


@pytest.mark.parametrize("scale", [1e-150, 1e-9, 1e9, 1e11, 1e75])
def test_results_of_any_size_can_be_written_down(scale: float) -> None:
    values = [value * scale for value in (1.0, 1.1, 0.9, 1.2, 0.8, 1.05)]
    for name, params in (
        ("bootstrap_ci", {"data": values}),
        ("threshold_check", {"values": values, "threshold": 0.0, "direction": "above"}),
        (
            "bayesian_update",
            {"observations": values, "region": {"region": "interval", "low": 0, "high": scale}},
        ),
    ):
        report = ran(frozen(name, params))  # type: ignore[arg-type]
        assert canonical(report.result)
        assert report.result_hash


def test_an_interrupt_from_the_terminal_ends_no_worker() -> None:
    """Ctrl-C goes to all processes at once: workers must leave it to the server, which lets runs finish."""

    async def interrupted() -> bool:
        executor = ProcessExecutor(1)
        await executor.start()
        (worker,) = executor.workers
        assert worker.process.pid is not None
        os.kill(worker.process.pid, signal.SIGINT)
        worker.draw(None)
        alive = worker.alive
        await executor.close()
        return alive

    assert asyncio.run(interrupted())
