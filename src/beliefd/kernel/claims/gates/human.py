"""Human gate: some tiers are never decided by machines."""

from beliefd.kernel.claims.gates.result import GateInput, GateResult, passes, says
from beliefd.kernel.policy import HUMAN_ALWAYS

GATE = "human"


def human(given: GateInput) -> list[GateResult]:
    needed = given.policy.approvals.require_human
    found = [
        says(GATE, "ESCALATE", f"{claim.risk_tier} needs a person", ", ".join(needed), claim.risk_tier, claim)
        for claim in given.bundle.claims
        if claim.risk_tier in needed and not (given.granted and claim.risk_tier not in HUMAN_ALWAYS)
    ]
    reason = f"standing grant `{given.granted}` covers it" if given.granted else "no tier that needs a person"
    return found or passes(GATE, reason, ", ".join(needed), given.bundle.tier.name)
