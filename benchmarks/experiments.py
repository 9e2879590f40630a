"""Monte Carlo blocks against a plain loop and against the bare NumPy expression; two cores; stopping early.

The loop and the expression make the same sum from random numbers of their own. Naive looks are those of a
binomial test after every replicate, as if each were the only one.
"""

import asyncio
import math
import random
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from beliefd.experiments.engine import planned, run
from beliefd.experiments.executors.port import Executor, Work
from beliefd.experiments.executors.processes import ProcessExecutor
from beliefd.experiments.executors.serial import SerialExecutor
from beliefd.experiments.plan import Floats
from beliefd.experiments.registry import code_hash, template
from beliefd.experiments.sequential import log_capital
from beliefd.kernel.experiments.plan import Budget, ExperimentSpec, Frozen, TemplateName
from benchmarks.figures import TIMES_FASTER, Figure, Run, Target, alternate

NAME: Final = "experiments"
LOOP: Final = "plain Python loop"
BARE: Final = "bare NumPy"
ENDS: Final = (0.025, 0.975)
RATE, ALPHA = 0.95, 0.05


def experiments(run: Run) -> list[Figure]:
    return [*_bootstrap(run), *_simulation(run), *_posterior(run), *_cores(run), *_stopping(run)]


def _frozen(name: TemplateName, params: dict[str, Any], replicates: int, alpha: float = ALPHA) -> Frozen:
    budget = Budget(seconds=30, replicates=max(100, replicates))
    spec = ExperimentSpec(claim_id="bench", template=name, params=params, budget=budget)
    return Frozen(spec=spec, template=template(name).id, code_hash=code_hash(name), attempt=1, alpha=alpha)


def _block(frozen: Frozen) -> Callable[[], Floats]:
    chosen, plan = template(frozen.spec.template), planned(frozen)
    arm = chosen.main(plan)
    if arm is None:
        raise ValueError("a template that draws nothing")
    count = arm.replicates
    return lambda: chosen.draw(plan, arm, 0, count)


def _bootstrap(run: Run) -> list[Figure]:
    """The interval's ends."""
    draws = run.size(2_000, 100)
    data = np.random.default_rng(1).normal(size=1_000)
    listed, rng = [float(value) for value in data], np.random.Generator(np.random.Philox(2))
    block = _block(_frozen("bootstrap_ci", {"data": listed, "n_bootstrap": draws}, draws))

    def loop() -> list[float]:
        means = []
        for _ in range(draws):
            total = 0.0
            for _ in range(1_000):
                total += listed[int(random.random() * 1_000)]
            means.append(total / 1_000)
        return _ends(means)

    return _compared(
        run,
        f"bootstrap interval: {draws:,} resamples of 1,000 values",
        lambda: np.quantile(block(), ENDS),
        loop,
        lambda: np.quantile(data[rng.integers(0, 1_000, (draws, 1_000))].mean(axis=1), ENDS),
    )


def _model() -> dict[str, Any]:
    return {
        "model": {"language": "expression", "expression": "a * b + 1"},
        "inputs": [
            {"name": "a", "distribution": {"is": "normal", "mean": 5, "std": 1}},
            {"name": "b", "distribution": {"is": "uniform", "low": 1, "high": 2}},
        ],
    }


def _simulation(run: Run) -> list[Figure]:
    """The share of outputs above a value."""
    draws = run.size(200_000, 1_000)
    params = {**_model(), "region": {"region": "ordering", "side": "above", "than": 5}}
    rng = np.random.Generator(np.random.Philox(2))
    block = _block(_frozen("model_simulation", params, draws))

    def loop() -> float:
        held = 0
        for _ in range(draws):
            if random.gauss(5, 1) * random.uniform(1, 2) + 1 > 5:
                held += 1
        return held / draws

    return _compared(
        run,
        f"model: {draws:,} draws of a * b + 1 > 5",
        lambda: np.mean(block() > 5),
        loop,
        lambda: np.mean(rng.normal(5, 1, draws) * rng.uniform(1, 2, draws) + 1 > 5),
        at_most=1.3,
    )


def _posterior(run: Run) -> list[Figure]:
    """The share of belief above a value, and the interval's ends."""
    draws = run.size(5_000, 100)
    params = {
        "observations": [1.0] * 10,
        "n_samples": draws,
        "region": {"region": "ordering", "side": "above", "than": 0},
    }
    rng = np.random.Generator(np.random.Philox(2))
    block = _block(_frozen("bayesian_update", params, draws))

    def loop() -> tuple[float, list[float]]:
        held, values = 0, []
        for _ in range(draws):
            value = random.gauss(0.9, 0.3)
            held += value > 0
            values.append(value)
        return held / draws, _ends(values)

    def reduced(values: Floats) -> tuple[float, Floats]:
        return float((values > 0).mean()), np.quantile(values, ENDS)

    return _compared(
        run,
        f"posterior mass and interval: {draws:,} draws",
        lambda: reduced(block()),
        loop,
        lambda: reduced(rng.normal(0.9, 0.3, draws)),
        at_most=1.3,
    )


def _ends(values: list[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered[int(share * (len(values) - 1))] for share in ENDS]


def _compared(
    run: Run,
    what: str,
    ours: Callable[[], object],
    loop: Callable[[], object],
    bare: Callable[[], object],
    at_most: float = 2,
) -> list[Figure]:
    """Both peers a line each: how many times faster than the one, how many times the time of the other."""
    turns = run.size(10, 1)
    own, slow = alternate(run.size(5, 1), lambda: _took(ours, turns), lambda: _took(loop))
    mine, quick = alternate(run.size(15, 1), lambda: _took(ours, turns), lambda: _took(bare, turns))
    return [
        Figure(
            benchmark=NAME, what=what, unit="ms", ours=own, peer=slow, peer_is=LOOP, ratio=slow / own,
            ratio_is=TIMES_FASTER, target=Target(at_least=20),
        ),
        Figure(
            benchmark=NAME, what=what, unit="ms", ours=mine, peer=quick, peer_is=BARE, ratio=mine / quick,
            ratio_is="our time : peer's", target=Target(at_most=at_most),
        ),
    ]  # fmt: skip


def _cores(run: Run) -> list[Figure]:
    """Blocks alone; and a whole run that is never decided, because what is claimed is just true."""
    draws = run.size(3_000_000, 1_000)
    claimed = {"region": "ordering", "side": "above", "than": _quantile()}
    model = {"language": "expression", "expression": "a * b + 1 + 0 * exp(sin(a) * cos(b)) * tanh(a / b)"}
    params = {**_model(), "model": model, "region": claimed}
    frozen = _frozen("model_simulation", params, draws, alpha=1e-12)
    blocks, runs = asyncio.run(_on_both(frozen, run.size(5, 1)))
    return [
        Figure(
            benchmark=NAME, what="16 blocks of a model, two workers", unit="ms", ours=blocks[0],
            peer=blocks[1], peer_is="one process", ratio=blocks[1] / blocks[0], ratio_is=TIMES_FASTER,
            target=Target(at_least=1.5),
        ),
        Figure(
            benchmark=NAME, what=f"whole run with controls: {draws:,} draws, two workers", unit="ms",
            ours=runs[0], peer=runs[1], peer_is="one process", ratio=runs[1] / runs[0],
            ratio_is=TIMES_FASTER, target=Target(at_least=1.5),
        ),
    ]  # fmt: skip


async def _on_both(frozen: Frozen, rounds: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """The best time of a pool of two and of one process, for blocks and for the whole run."""
    pool, serial = ProcessExecutor(2), SerialExecutor()
    await pool.start()
    try:
        took: dict[str, list[float]] = {"processes": [], "serial": []}
        whole: dict[str, list[float]] = {"processes": [], "serial": []}
        for _ in range(rounds):
            for executor in (pool, serial):
                took[executor.name].append(await _blocks_took(frozen, executor))
                whole[executor.name].append(await _run_took(frozen, executor))
    finally:
        await pool.close()
    return (min(took["processes"]), min(took["serial"])), (min(whole["processes"]), min(whole["serial"]))


async def _blocks_took(frozen: Frozen, executor: Executor) -> float:
    plan = planned(frozen)
    arm = template("model_simulation").main(plan)
    if arm is None:
        raise ValueError("a template that draws nothing")
    size = min(500_000, arm.replicates)
    started = time.perf_counter()
    works = [Work(plan, arm, place * size, size) for place in range(16)]
    for first in range(0, len(works), executor.width):
        await asyncio.gather(*(executor.draw(work) for work in works[first : first + executor.width]))
    return (time.perf_counter() - started) * 1e3


async def _run_took(frozen: Frozen, executor: Executor) -> float:
    started = time.perf_counter()
    report = await run(frozen, executor=executor)
    if report.status != "completed":
        raise RuntimeError(report.failure)
    return (time.perf_counter() - started) * 1e3


def _quantile() -> float:
    """What a * b + 1 is above of in 95 % of all draws."""
    rng = np.random.default_rng(3)
    drawn = rng.normal(5, 1, 2_000_000) * rng.uniform(1, 2, 2_000_000) + 1
    return float(np.quantile(drawn, 1 - RATE))


def _stopping(run: Run) -> list[Figure]:
    count, steps = run.size(10_000, 100), run.size(2_000, 200)
    shown = _shown(steps)
    ends = _first(shown, _paths(count, steps, 0.99))
    mean = float(np.where(ends == 0, steps, ends).mean())
    errors = max(float((_first(shown, _paths(count, steps, RATE)) > 0).mean()), 1 / count)
    naive = float((_first(_naively_shown(steps), _paths(count, steps, RATE)) > 0).mean())
    return [
        Figure(
            benchmark=NAME, what="replicates until a claim of .95 is shown, truth .99", unit="replicates",
            ours=mean, peer=steps, peer_is="fixed sample", ratio=steps / mean, ratio_is="peer's : ours",
            target=Target(at_least=5),
        ),
        Figure(
            benchmark=NAME, what=f"errors of {count:,} experiments, a look at each replicate", unit="share",
            ours=errors, peer=naive, peer_is="naive looks", ratio=errors / ALPHA,
            ratio_is="our errors : alpha", target=Target(at_most=1),
        ),
    ]  # fmt: skip


def _paths(count: int, steps: int, truth: float) -> NDArray[np.int64]:
    """Successes after each step, a row an experiment."""
    return np.cumsum(np.random.default_rng(5).random((count, steps)) < truth, axis=1)


def _first(shown: NDArray[np.bool_], paths: NDArray[np.int64]) -> NDArray[np.int64]:
    """After how many steps the claim is shown; 0 if never."""
    crossed = shown[np.arange(paths.shape[1])[None, :], paths]
    return np.where(crossed.any(axis=1), crossed.argmax(axis=1) + 1, 0)


def _shown(steps: int) -> NDArray[np.bool_]:
    """Does the e-process show the claim, after each step and for each count of successes?"""
    counts = np.arange(1, steps + 1)[:, None]
    successes = np.minimum(np.arange(steps + 1)[None, :], counts)
    capital = log_capital(successes.astype(float), (counts - successes).astype(float), RATE, above=True)
    return np.asarray(capital >= -math.log(ALPHA))


def _naively_shown(steps: int) -> NDArray[np.bool_]:
    counts = np.arange(1, steps + 1)[:, None]
    successes = np.minimum(np.arange(steps + 1)[None, :], counts)
    return np.where(successes < 1, 1.0, bdtrc(successes - 1.0, counts, RATE)) <= ALPHA


def _took(work: Callable[[], object], turns: int = 1) -> float:
    started = time.perf_counter()
    for _ in range(turns):
        work()
    return (time.perf_counter() - started) / turns * 1e3
