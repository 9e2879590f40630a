"""Human gate: some tiers are never decided by machines."""

from beliefd.kernel.claims.gates.result import GateInput, GateResult, passes
from beliefd.kernel.policy import HUMAN_ALWAYS

GATE = "human"


def human(given: GateInput) -> list[GateResult]:
    needed = given.policy.approvals.require_human
    found = [
        GateResult(
            gate=GATE,
            outcome="ESCALATE",
            reason=f"{claim.risk_tier} needs a person",
            claim_id=claim.id,
            limit=", ".join(needed),
            observed=claim.risk_tier,
        )
        for claim in given.bundle.claims
        if claim.risk_tier in needed and not (given.granted and claim.risk_tier not in HUMAN_ALWAYS)
    ]
    reason = f"standing grant `{given.granted}` covers it" if given.granted else "no tier that needs a person"
    return found or passes(GATE, reason, ", ".join(needed), given.bundle.tier.name)
