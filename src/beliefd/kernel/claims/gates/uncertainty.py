"""Uncertainty gate: thresholds from policy, on what is declared and on what was measured.

The two never change places: what was measured stands in receipts, and a claim cites them.
"""

from msgspec import UNSET

from beliefd.kernel.claims.bundle import Claim, Severity
from beliefd.kernel.claims.gates.result import GateInput, GateResult, passes, says
from beliefd.kernel.claims.standing import ClaimStanding, MeasuredStanding
from beliefd.kernel.labels import WITNESSED
from beliefd.kernel.policy import MeasurementRule, UncertaintyPolicy

GATE = "uncertainty"
_NONE = ClaimStanding()


def uncertainty(given: GateInput) -> list[GateResult]:
    policy = given.policy.uncertainty
    found = [
        result
        for claim in given.bundle.claims
        if (result := _judge(claim, policy, _measured(claim, given), given.tiers.of(claim).name)) is not None
    ]
    highest = max(_highest(claim, _measured(claim, given)) for claim in given.bundle.claims)
    return found or passes(GATE, "uncertainty is low enough", policy.explain_above, highest)


def _measured(claim: Claim, given: GateInput) -> MeasuredStanding | None:
    return (given.standings or {}).get(claim.id or "", _NONE).measured or None


def _highest(claim: Claim, measured: MeasuredStanding | None) -> float:
    return max(claim.uncertainty.declared, 0.0 if measured is None else measured.value)


def _judge(
    claim: Claim, policy: UncertaintyPolicy, measured: MeasuredStanding | None, tier: str
) -> GateResult | None:
    value = _highest(claim, measured)
    is_measured = measured is not None and measured.value >= claim.uncertainty.declared
    what = f"{'measured' if is_measured else 'declared'} uncertainty of {value}"
    how = f" ({measured.how})" if measured is not None and is_measured else ""
    outcome, limit, reason = Severity.EXECUTE, policy.explain_above, ""
    if value > policy.defer_above:
        outcome, limit = Severity.DEFER, policy.defer_above
        reason = f"{what} is above {policy.defer_above}{how}"
    elif value > policy.explain_above:
        outcome, reason = Severity.EXPLAIN, f"{what} is above {policy.explain_above}{how}"
    rule = policy.required(tier)
    missing = None if rule is None else _missing(rule, claim, measured)
    if missing is not None and outcome < Severity.DEFER:
        outcome, reason = Severity.DEFER, f"{tier} needs a measurement {missing}"
    wish = Severity[claim.uncertainty.gate_recommendation]
    # INVARIANT: a number or a wish that an agent declares about itself can only tighten.
    if wish > outcome:
        told = f"the agent itself recommends {wish.name}"
        return says(GATE, wish.name, told, limit, value, claim)  # type: ignore[arg-type]
    if outcome is Severity.EXECUTE:
        return None
    return says(GATE, outcome.name, reason, limit, value, claim)  # type: ignore[arg-type]


def _missing(rule: MeasurementRule, claim: Claim, measured: MeasuredStanding | None) -> str | None:
    """What the measurement that a claim cites lacks; None if it is as policy asks."""
    if measured is None or claim.uncertainty.measurement_id is UNSET:
        return "and cites none"
    if rule.methods and measured.method not in rule.methods:
        return f"by {' or '.join(rule.methods)}, not by {measured.method}"
    if rule.judges and measured.judge not in rule.judges:
        return f"with the judge {' or '.join(rule.judges)}, not {measured.judge or 'without one'}"
    if measured.k < rule.min_k:
        return f"over {rule.min_k} answers or more, not {measured.k}"
    if rule.witnessed and measured.label != WITNESSED:
        return "whose answers somebody else has drawn"
    return None
