"""Adversarial gate: what a detector found. A detector that failed counts as a reason to ask a person."""

from beliefd.kernel.claims.gates.result import GateInput, GateResult, passes, says

GATE = "adversarial"


def adversarial(given: GateInput) -> list[GateResult]:
    limit, threat = given.policy.adversarial.defer_above, given.findings.threat
    if threat.failed is not None:
        reason = f"detector `{threat.detector}` gave no answer: {threat.failed}"
        return [says(GATE, "DEFER", reason, limit, "failed")]
    if threat.score > limit:
        kinds = ", ".join(sorted({signal.kind for signal in threat.signals}))
        reason = f"detector `{threat.detector}` sees {kinds or 'a threat'}"
        return [says(GATE, "DEFER", reason, limit, threat.score)]
    return passes(GATE, f"detector `{threat.detector}` sees no threat", limit, threat.score)
