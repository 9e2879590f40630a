"""Security gate: the speaker's tier, where the request came from, and how often it speaks."""

from beliefd.kernel.claims.gates.result import GateInput, GateResult, passes, says
from beliefd.kernel.values import Tier

GATE = "security"


def security(given: GateInput) -> list[GateResult]:
    policy, findings = given.policy.security, given.findings
    own = Tier[given.principal.tier]
    if given.bundle.tier > own:
        return [
            says(
                GATE,
                "REFUSE",
                f"`{given.principal.id}` has tier {own.name}, the claim needs {claim.risk_tier}",
                own.name,
                claim.risk_tier,
                claim,
            )
            for claim in given.bundle.claims
            if Tier[claim.risk_tier] > own
        ]
    if findings.origin is not None and findings.origin not in policy.allowed_origins:
        reason = f"requests from `{findings.origin}` are not allowed"
        allowed = ", ".join(policy.allowed_origins)
        return [says(GATE, "REFUSE", reason, allowed, findings.origin)]
    if findings.recent >= policy.rate_limit:
        reason = (
            f"more than {policy.rate_limit} bundles in {policy.rate_window_seconds} s from this principal"
        )
        return [says(GATE, "DEFER", reason, policy.rate_limit, findings.recent + 1)]
    return passes(GATE, "the principal may say this", own.name, given.bundle.tier.name)
