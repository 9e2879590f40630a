"""What may be submitted. A bundle gets out through these functions or not at all."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals.eligibility import covering_grant
from beliefd.kernel.approvals.shaping import known_shapers, shaped
from beliefd.kernel.approvals.standing import names_of, names_under
from beliefd.kernel.claims.actions import unknown_action
from beliefd.kernel.claims.bundle import ClaimBundle, filled
from beliefd.kernel.claims.commands import RetractClaims, SubmitClaims
from beliefd.kernel.claims.ending import cannot_correct, retract_claims, with_correction
from beliefd.kernel.claims.events import BundleGated
from beliefd.kernel.claims.gates import run_gates
from beliefd.kernel.claims.judging import findings_of, gate_input, gated
from beliefd.kernel.claims.measured import with_new, with_receipts
from beliefd.kernel.claims.resolving import unsaid
from beliefd.kernel.claims.tiers import ClaimTiers
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.limits import PENDING, over_limit
from beliefd.kernel.state import Session
from beliefd.kernel.subjects import undeclared
from beliefd.kernel.tables import Rules


def submit_claims(session: Session, command: SubmitClaims, facts: Facts) -> BundleGated | Refused:
    bundle, receipts = with_receipts(filled(command.bundle, facts.event_id, facts.now), command, facts)
    session = with_new(session, receipts)
    # INVARIANT: whom a relay speaks for has proposed it too: he is no witness of it, and does not approve it.
    relayed = () if findings_of(facts).tools is UNSET else (bundle.origin_agent,)
    proposers = tuple(dict.fromkeys((facts.principal.id, *relayed)))
    problem = undeclared(session, bundle.claims) or unsaid(bundle.claims, session.measurements, proposers)
    if problem is not None:
        return problem
    known = session.claims.bundles.get(bundle.id or "")
    superseded: str | None = None
    if known is not None:
        open_approval = session.approvals.by_id.get(known.approval_id) if known.approval_id else None
        if open_approval is None or open_approval.status != "pending":
            return refused(Code.CONFLICT, f"bundle `{bundle.id}` has been decided; use a new id", "$.id")
        if facts.principal.id not in open_approval.proposers:
            return refused(Code.CONFLICT, f"bundle `{bundle.id}` belongs to somebody else", "$.id")
        superseded = open_approval.approval_id
    problem = unknown_action(session, bundle, facts) or cannot_correct(
        session, bundle, facts, facts.principal
    )
    if problem is not None:
        return problem
    asked = gate_input(bundle, session, facts.principal, facts, proposers)
    others = (one for name in proposers[1:] for one in names_under(name, facts))
    people = (*names_of(facts.principal, facts), *others)
    grant = _grant(session, asked.tiers, bundle, people, facts)
    given = asked if grant is None else replace(asked, granted=grant)
    judged = gated(run_gates(given), given, facts, proposers, facts.principal)
    judged = with_correction(session, judged, facts, facts.principal.id)
    if superseded is None and judged.approval is not None and judged.approval.status == "pending":
        # INVARIANT: nobody fills the inbox. What would be one more to wait is refused, what passes is not.
        limit = facts.policy.bounds.pending_approvals
        problem = over_limit(PENDING, findings_of(facts).pending, limit, "$.claims")
        if problem is not None:
            return problem
    judged = replace(judged, shaped=shaped(bundle, people, facts))
    used = grant if grant is not None and judged.bundle.decision == "PUBLISH" else None
    return BundleGated(
        event_id=facts.event_id,
        gated=judged,
        proposer=facts.principal.id,
        superseded=superseded,
        grant_id=used,
        receipts=receipts or UNSET,
    )


def _grant(
    session: Session, tiers: ClaimTiers, bundle: ClaimBundle, people: tuple[str, ...], facts: Facts
) -> str | None:
    """The standing grant that covers a bundle: of nobody who proposes or shaped it."""
    if not session.approvals.grants:
        return None
    before = known_shapers(session, bundle, facts)
    return covering_grant(session, tiers.names, {*people, *before}, facts)


RULES: Final[Rules] = {SubmitClaims: submit_claims, RetractClaims: retract_claims}
