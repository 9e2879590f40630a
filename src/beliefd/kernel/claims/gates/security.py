"""Security gate: who speaks for whom, the speaker's tier, where a request came from, and how often."""

from msgspec import UNSET

from beliefd.kernel.claims.gates.result import GateInput, GateResult, passes, says
from beliefd.kernel.claims.tiers import BY_NAME, NAMES, unknown_tools

GATE = "security"


def security(given: GateInput) -> list[GateResult]:
    policy, findings = given.policy.security, given.findings
    if found := [*_forged_origin(given), *_unknown(given), *_above(given)]:
        return found
    if findings.origin is not None and findings.origin not in policy.allowed_origins:
        reason = f"requests from `{findings.origin}` are not allowed"
        allowed = ", ".join(policy.allowed_origins)
        return [says(GATE, "REFUSE", reason, allowed, findings.origin)]
    if findings.recent >= policy.rate_limit:
        reason = (
            f"more than {policy.rate_limit} bundles in {policy.rate_window_seconds} s from this principal"
        )
        return [says(GATE, "DEFER", reason, policy.rate_limit, findings.recent + 1)]
    return passes(GATE, "the principal may say this", given.principal.tier, NAMES[given.tiers.highest])


def _forged_origin(given: GateInput) -> list[GateResult]:
    """INVARIANT: `origin_agent` is who speaks, or somebody whom policy lets that principal speak for."""
    who, origin = given.principal.id, given.bundle.origin_agent
    if given.findings.tools is UNSET or given.policy.security.speaks_for(who, origin):
        return []
    reason = f"`{who}` does not speak for `{origin}`: no relay of the policy names both"
    return [says(GATE, "REFUSE", reason, who, origin)]


def _unknown(given: GateInput) -> list[GateResult]:
    """What was registered when it was submitted may be gone when it is approved."""
    return [
        says(GATE, "REFUSE", action.unknown, "a registered tool", action.tool or "", claim)
        for _, claim, action in unknown_tools(given.bundle, given.findings.tools or {})
    ]


def _above(given: GateInput) -> list[GateResult]:
    own, tiers = BY_NAME[given.principal.tier], given.tiers
    if tiers.highest <= own:
        return []
    why = tiers.reasons
    return [
        says(
            GATE,
            "REFUSE",
            f"`{given.principal.id}` has tier {own.name}, the claim needs {tier.name}"
            + (f" ({why[claim.id]})" if claim.id in why else ""),
            own.name,
            tier.name,
            claim,
        )
        for claim in given.bundle.claims
        if (tier := tiers.of(claim)) > own
    ]
