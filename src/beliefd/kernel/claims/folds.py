"""How the events of claims change the state of a session."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals.state import Approval, Approvals, Grant
from beliefd.kernel.claims.events import BundleGated, ClaimsRetracted, Gated
from beliefd.kernel.claims.measured import with_new
from beliefd.kernel.claims.state import BundleState
from beliefd.kernel.claims.tiers import recorded_tier
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Folds

RECENT: Final = 32
"""How many submissions the state remembers the tier of."""


def bundle_gated(session: Session, event: BundleGated) -> Session:
    session = with_new(with_gated(session, event.gated, event.event_id), event.receipts or ())
    step = (event.proposer, int(recorded_tier(event.gated.bundle, event.gated.raised)))
    claims = replace(session.claims, recent_tiers=(*session.claims.recent_tiers, step)[-RECENT:])
    return replace(session, claims=claims, approvals=_approvals(session.approvals, event))


def _approvals(approvals: Approvals, event: BundleGated) -> Approvals:
    """What waited for a word on an earlier version waits no more, and a grant that was used is counted."""
    if event.superseded is not None:
        old: Approval = approvals.by_id[event.superseded]
        successor = None if event.gated.approval is None else event.gated.approval.approval_id
        approvals = approvals.with_approval(old.closed("superseded", successor, event.proposer))
    if event.grant_id is not None:
        grant: Grant = approvals.grants[event.grant_id]
        approvals = approvals.with_grant(replace(grant, uses=grant.uses + 1))
    return approvals


def with_gated(session: Session, gated: Gated, event_id: str) -> Session:
    """The session with a bundle as the gates left it, and with the approval that it waits for."""
    approval_id = None if gated.approval is None else gated.approval.approval_id
    state = BundleState(event_id, gated.bundle.decision, approval_id)
    claims = session.claims.with_bundle(gated.bundle.id or "", state)
    if gated.ended is not UNSET:
        claims = claims.with_ended(gated.ended, event_id)
    approvals = session.approvals.with_shaped(gated.shaped).with_approval(gated.approval)
    return replace(session, claims=claims, approvals=approvals)


def claims_retracted(session: Session, event: ClaimsRetracted) -> Session:
    # An event that no rule makes is not folded: replay takes a `KeyError` for a ledger that is broken.
    session.claims.bundles[event.ended.bundle_id]
    return replace(session, claims=session.claims.with_ended(event.ended, event.event_id))


FOLDS: Final[Folds] = {BundleGated: bundle_gated, ClaimsRetracted: claims_retracted}
