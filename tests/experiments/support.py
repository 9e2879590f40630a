"""Plans, frozen as the ledger would freeze them, and runs of them."""

import asyncio
from typing import Any

import numpy as np

from beliefd.experiments.engine import run
from beliefd.experiments.executors.port import Executor
from beliefd.experiments.executors.serial import SerialExecutor
from beliefd.experiments.registry import code_hash, template
from beliefd.kernel.experiments.plan import Budget, Criterion, ExperimentSpec, Frozen, RunReport, TemplateName

PATIENT = Budget(seconds=30)


def normal(mean: float, std: float, count: int, seed: int = 3) -> list[float]:
    return [float(value) for value in np.random.default_rng(seed).normal(mean, std, count)]


def frozen(
    name: TemplateName,
    params: dict[str, Any],
    criterion: Criterion | None = None,
    *,
    alpha: float = 0.05,
    seed: int = 7,
    budget: Budget = PATIENT,
    unit: str = "1",
) -> Frozen:
    spec = ExperimentSpec(
        claim_id="c-1",
        template=name,
        params=params,
        criterion=criterion,
        alpha=alpha,
        seed=seed,
        budget=budget,
        unit=unit,
    )
    return Frozen(spec=spec, template=template(name).id, code_hash=code_hash(name), attempt=1, alpha=alpha)


def ran(plan: Frozen, executor: Executor | None = None, **options: Any) -> RunReport:
    return asyncio.run(run(plan, executor=executor or SerialExecutor(), **options))


def simulation(
    expression: str = "a", than: float = 0.0, mean: float = 5.0, std: float = 1.0
) -> dict[str, Any]:
    """A model of one normal input that is claimed to be above a value."""
    return {
        "model": {"language": "expression", "expression": expression},
        "inputs": [{"name": "a", "distribution": {"is": "normal", "mean": mean, "std": std}}],
        "region": {"region": "ordering", "side": "above", "than": than},
    }


ABOVE_ZERO = {"region": "ordering", "side": "above", "than": 0}
STRONG = normal(2.0, 1.0, 60)
GOOD: dict[TemplateName, dict[str, Any]] = {
    "bootstrap_ci": {"data": STRONG},
    "bayesian_update": {"observations": STRONG, "region": ABOVE_ZERO},
    "threshold_check": {"values": STRONG, "threshold": 1.0, "direction": "above"},
    "numeric_consistency": {"claimed_value": 2.0, "observed_values": STRONG, "tolerance": 1.5},
    "sensitivity_suite": {"observed_values": STRONG, "axes": [1.0, 0.5]},
    "contradiction_detect": {"items": [{"id": "e1", "direction": "supports"}]},
    "citation_check": {"required": ["e1"], "bundle": [{"id": "e1", "source": "s1"}]},
    "effect_direction": {"observations": STRONG, "expected": "positive"},
    "model_simulation": simulation(),
}
"""Parameters with which each template supports its claim and passes all checks."""
