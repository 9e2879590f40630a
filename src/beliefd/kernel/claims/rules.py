"""What may be submitted. A bundle gets out through these functions or not at all."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.approvals.eligibility import covering_grant
from beliefd.kernel.claims.actions import unknown_action
from beliefd.kernel.claims.bundle import filled
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.claims.events import BundleGated
from beliefd.kernel.claims.gates import run_gates
from beliefd.kernel.claims.judging import gate_input, gated
from beliefd.kernel.claims.measured import as_measured
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules


def submit_claims(session: Session, command: SubmitClaims, facts: Facts) -> BundleGated | Refused:
    bundle = as_measured(filled(command.bundle, facts.event_id, facts.now), facts.findings)
    known = session.claims.bundles.get(bundle.id or "")
    superseded: str | None = None
    if known is not None:
        open_approval = session.approvals.by_id.get(known.approval_id) if known.approval_id else None
        if open_approval is None or open_approval.status != "pending":
            return refused(Code.CONFLICT, f"bundle `{bundle.id}` has been decided; use a new id", "$.id")
        if facts.principal.id not in open_approval.proposers:
            return refused(Code.CONFLICT, f"bundle `{bundle.id}` belongs to somebody else", "$.id")
        superseded = open_approval.approval_id
    if (problem := unknown_action(session, bundle, facts)) is not None:
        return problem
    asked = gate_input(bundle, facts.principal, facts, None)
    grant = covering_grant(session, {tier.name for tier in asked.tiers.by_claim.values()}, facts)
    given = replace(asked, granted=grant)
    judged = gated(run_gates(given), bundle, facts, (facts.principal.id,), facts.principal)
    used = grant if grant is not None and judged.bundle.decision == "PUBLISH" else None
    return BundleGated(
        event_id=facts.event_id,
        gated=judged,
        proposer=facts.principal.id,
        superseded=superseded,
        grant_id=used,
    )


RULES: Final[Rules] = {SubmitClaims: submit_claims}
