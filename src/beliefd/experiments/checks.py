"""The checks: questions to a run's own diagnostics. One that fails makes the run fragile."""

from typing import Final

from beliefd.experiments.plan import Findings, Plan
from beliefd.kernel.experiments.plan import Check, CheckName

LEAST_EFFECTIVE_SAMPLES: Final = 400
LEAST_ORDER_CHANCE: Final = 0.05
MOST_FAILED: Final = 0.01
LARGEST: Final = 1e15
"""A measurement past it is told as this: larger ones do not survive JSON."""


def checks(plan: Plan, findings: Findings) -> tuple[Check, ...]:
    """All of them, always in this order. What does not apply to a template passes without a measurement."""
    found = findings.diagnosis
    failed_share = findings.failed_replicates / max(1, findings.replicates)
    return (
        _at_most("toy_model", found.toy_error, 1.0),
        _check("extremes", found.variance, 0.0, found.variance is None or found.variance > 0),
        Check(name="dimensions", passed=found.unit_agrees),
        _at_least("independence", found.order_chance, LEAST_ORDER_CHANCE),
        _at_least("effective_sample_size", found.effective_samples, LEAST_EFFECTIVE_SAMPLES),
        _at_most("budget", float(findings.replicates), float(plan.replicates)),
        Check(
            name="completeness",
            passed=found.complete and failed_share <= MOST_FAILED,
            measured=failed_share,
            limit=MOST_FAILED,
        ),
        _at_most("sensitivity", float(len(found.flips)), 0.0),
        _at_most("falsifiable", found.slack, 1.0),
    )


def _at_most(name: CheckName, measured: float | None, limit: float) -> Check:
    return _check(name, measured, limit, measured is None or measured <= limit)


def _at_least(name: CheckName, measured: float | None, limit: float) -> Check:
    return _check(name, measured, limit, measured is None or measured >= limit)


def _check(name: CheckName, measured: float | None, limit: float, passed: bool) -> Check:
    if measured is None:
        return Check(name=name, passed=passed)
    return Check(name=name, passed=passed, measured=max(-LARGEST, min(LARGEST, measured)), limit=limit)
