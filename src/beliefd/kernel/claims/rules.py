"""What may be submitted and granted. A bundle gets out through these functions or not at all."""

from msgspec.structs import replace

from beliefd.kernel.claims.approvals import later, may_decide
from beliefd.kernel.claims.bundle import ClaimBundle, filled, seconds
from beliefd.kernel.claims.events import BundleGated, Grant, GrantGiven, GrantRevoked
from beliefd.kernel.claims.gates import run_gates
from beliefd.kernel.claims.judging import gate_input, gated
from beliefd.kernel.claims.measured import as_measured
from beliefd.kernel.commands import GiveGrant, RevokeGrant, SubmitClaims
from beliefd.kernel.errors import Code
from beliefd.kernel.events import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import HUMAN_ALWAYS, ApprovalPolicy
from beliefd.kernel.state import Session
from beliefd.kernel.values import PEOPLE


def submit_claims(session: Session, command: SubmitClaims, facts: Facts) -> BundleGated | Refused:
    bundle = as_measured(filled(command.bundle, facts.event_id, facts.now), facts.findings)
    known = session.bundles.get(bundle.id or "")
    superseded: str | None = None
    if known is not None:
        open_approval = session.approvals.get(known.approval_id) if known.approval_id else None
        if open_approval is None or open_approval.status != "pending":
            return refused(Code.CONFLICT, f"bundle `{bundle.id}` has been decided; use a new id", "$.id")
        if facts.principal.id not in open_approval.proposers:
            return refused(Code.CONFLICT, f"bundle `{bundle.id}` belongs to somebody else", "$.id")
        superseded = open_approval.approval_id
    grant = _covering_grant(session, bundle, facts)
    given = gate_input(bundle, facts.principal, facts, grant)
    judged = gated(run_gates(given), bundle, facts, (facts.principal.id,), facts.principal)
    used = grant if grant is not None and judged.bundle.decision == "PUBLISH" else None
    return BundleGated(
        event_id=facts.event_id,
        gated=judged,
        proposer=facts.principal.id,
        superseded=superseded,
        grant_id=used,
    )


def give_grant(session: Session, command: GiveGrant, facts: Facts) -> GrantGiven | Refused:
    # INVARIANT: no standing consent exists for DELETE or PRIVILEGE.
    forbidden = [tier for tier in command.tiers if tier in HUMAN_ALWAYS]
    if forbidden:
        return refused(Code.FORBIDDEN, f"{forbidden[0]} cannot be granted in advance", "$.tiers")
    for tier in command.tiers:
        if not may_decide(facts.policy.approvals.rule_for(tier), facts.principal):
            return refused(Code.FORBIDDEN, f"`{facts.principal.id}` may not approve {tier}", "$.tiers")
        if not _grantable(tier, facts.policy.approvals):
            return refused(Code.FORBIDDEN, f"{tier} takes several people each time", "$.tiers")
    if command.principal == facts.principal.id:
        return refused(Code.FORBIDDEN, "nobody can grant to themselves", "$.principal")
    grant = Grant(
        grant_id=f"grant-{facts.event_id}",
        principal=command.principal,
        tiers=command.tiers,
        granted_by=facts.principal.id,
        granted_at=facts.now,
        expires_at=later(facts.now, command.expires_in_seconds),
        max_uses=command.max_uses,
    )
    return GrantGiven(grant=grant)


def revoke_grant(session: Session, command: RevokeGrant, facts: Facts) -> GrantRevoked | Refused:
    grant = session.grants.get(command.grant_id)
    if grant is None:
        return refused(Code.NOT_FOUND, f"no grant `{command.grant_id}` in this session", "$.grant_id")
    if facts.principal.role not in PEOPLE:
        return refused(Code.FORBIDDEN, f"role `{facts.principal.role}` may not revoke grants", "$.grant_id")
    return GrantRevoked(grant=replace(grant, revoked_at=grant.revoked_at or facts.now))


def _covering_grant(session: Session, bundle: ClaimBundle, facts: Facts) -> str | None:
    needed = {
        claim.risk_tier for claim in bundle.claims if claim.risk_tier in facts.policy.approvals.require_human
    }
    if not needed or not all(_grantable(tier, facts.policy.approvals) for tier in needed):
        return None
    for grant_id in sorted(session.grants):
        grant: Grant = session.grants[grant_id]
        live = grant.revoked_at is None and grant.uses < grant.max_uses
        timely = seconds(facts.now) < seconds(grant.expires_at)
        if live and timely and grant.principal == facts.principal.id and needed <= set(grant.tiers):
            return grant_id
    return None


def _grantable(tier: str, policy: ApprovalPolicy) -> bool:
    """One person's consent in advance cannot stand for two people, nor for nobody."""
    rule = policy.rule_for(tier)
    return tier not in HUMAN_ALWAYS and rule.required == 1 and not rule.nobody
