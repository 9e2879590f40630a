"""Adversarial gate: what detectors found. One that failed counts as a reason to ask a person."""

from collections.abc import Callable
from math import prod
from typing import Final

from beliefd.kernel.claims.gates.result import GateInput, GateResult, passes, says
from beliefd.kernel.claims.threat import Threat

GATE = "adversarial"

_COMBINED: Final[dict[str, Callable[[list[float]], float]]] = {
    "max": max,
    "min": min,
    "noisy_or": lambda scores: round(1.0 - prod(1.0 - score for score in sorted(scores)), 4),
}


def adversarial(given: GateInput) -> list[GateResult]:
    rules, threats = given.policy.adversarial, given.findings.threats
    limit = rules.defer_above
    failed = [one for one in threats if one.failed is not None]
    if failed:
        # INVARIANT: no detector's word makes up for that of another.
        reason = "; ".join(f"detector `{one.detector}` gave no answer: {one.failed}" for one in failed)
        return [says(GATE, "DEFER", reason, limit, "failed")]
    score = _combined(rules.combine or "max", threats)
    if score > limit:
        return [says(GATE, "DEFER", _seen(threats), limit, score)]
    names = ", ".join(f"`{one.detector}`" for one in threats)
    one_or_more = f"detector {names} sees" if len(threats) == 1 else f"detectors {names} see"
    return passes(GATE, f"{one_or_more} no threat", limit, score)


def _combined(how: str, threats: tuple[Threat, ...]) -> float:
    return threats[0].score if len(threats) == 1 else _COMBINED[how]([one.score for one in threats])


def _seen(threats: tuple[Threat, ...]) -> str:
    if len(threats) == 1:
        return f"detector `{threats[0].detector}` sees {_kinds(threats[0])}"
    return ", ".join(f"detector `{one.detector}` sees {_kinds(one)} ({one.score:.2f})" for one in threats)


def _kinds(threat: Threat) -> str:
    kinds = ", ".join(sorted({signal.kind for signal in threat.signals}))
    return kinds or ("a threat" if threat.score else "no threat")
