"""Uncertainty gate: thresholds from policy, and the agent's own recommendation where that is stricter."""

from beliefd.kernel.claims.bundle import Claim, Severity
from beliefd.kernel.claims.findings import UncertaintySource
from beliefd.kernel.claims.gates.result import GateInput, GateResult, passes, says
from beliefd.kernel.policy import UncertaintyPolicy

GATE = "uncertainty"


def uncertainty(given: GateInput) -> list[GateResult]:
    policy = given.policy.uncertainty
    known = given.findings.uncertainty or {}
    found = [
        result
        for claim in given.bundle.claims
        if (result := _judge(claim, policy, known.get(claim.id or ""))) is not None
    ]
    highest = max(claim.uncertainty.value for claim in given.bundle.claims)
    return found or passes(GATE, "uncertainty is low enough", policy.explain_above, highest)


def _judge(claim: Claim, policy: UncertaintyPolicy, source: UncertaintySource | None) -> GateResult | None:
    value = claim.uncertainty.value
    what = "measured uncertainty" if source and source.source == "measured" else "uncertainty"
    measured, limit, reason = Severity.EXECUTE, policy.explain_above, ""
    if value > policy.defer_above:
        measured, limit, reason = (
            Severity.DEFER,
            policy.defer_above,
            f"{what} of {value} is above {policy.defer_above}",
        )
    elif value > policy.explain_above:
        measured, reason = Severity.EXPLAIN, f"{what} of {value} is above {policy.explain_above}"
    declared = Severity[claim.uncertainty.gate_recommendation]
    # INVARIANT: a number or a wish that an agent declares about itself can only tighten.
    if declared > measured:
        wish = f"the agent itself recommends {declared.name}"
        return says(GATE, declared.name, wish, limit, value, claim)  # type: ignore[arg-type]
    if measured is Severity.EXECUTE:
        return None
    return says(GATE, measured.name, reason, limit, value, claim)  # type: ignore[arg-type]
