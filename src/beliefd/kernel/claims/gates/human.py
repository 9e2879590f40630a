"""Human gate: machines never decide some tiers, nor a decision that does not say what it decides."""

from msgspec import UNSET

from beliefd.kernel.claims.bundle import Claim
from beliefd.kernel.claims.gates.result import GateInput, GateResult, passes, says
from beliefd.kernel.claims.tiers import NAMES
from beliefd.kernel.policy import HUMAN_ALWAYS

GATE = "human"


def human(given: GateInput) -> list[GateResult]:
    needed, tiers = given.policy.approvals.require_human, given.tiers
    limit, why = ", ".join(needed), tiers.reasons if tiers.raised else {}
    found: list[GateResult] = []
    low = {tier for tier, name in NAMES.items() if name not in needed}
    for claim in given.bundle.claims:
        if tiers.by_claim[claim.id or ""] in low and claim.claim_type != "DECISION":
            continue
        tier = tiers.name_of(claim)
        if tier in needed and not (given.granted and tier not in HUMAN_ALWAYS):
            because = f" ({why[claim.id]})" if claim.id in why else ""
            found.append(says(GATE, "ESCALATE", f"{tier} needs a person{because}", limit, tier, claim))
        elif _decides_nothing_named(claim, given):
            text = "a DECISION that names no action needs a person"
            found.append(says(GATE, "ESCALATE", text, "an action", "none", claim))
    reason = f"standing grant `{given.granted}` covers it" if given.granted else "no tier that needs a person"
    return found or passes(GATE, reason, limit, NAMES[tiers.highest])


def _decides_nothing_named(claim: Claim, given: GateInput) -> bool:
    """INVARIANT: no grant covers what it does not say; only policy lets a role decide without naming what."""
    if claim.claim_type != "DECISION" or claim.action is not UNSET or given.findings.tools is UNSET:
        return False
    return given.principal.role not in given.policy.approvals.decisions_without_action
