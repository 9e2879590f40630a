"""Which bundle an event published, and who proposed it."""

from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.claims.bundle import ClaimBundle, claim_id
from beliefd.kernel.claims.endings import PublishedBundle
from beliefd.kernel.claims.events import BundleGated
from beliefd.kernel.events import Event


def published_by(event: Event, bundle_id: str) -> PublishedBundle | None:
    """The bundle of this id, if the event that last judged it says that it is published."""
    if isinstance(event, BundleGated):
        bundle: ClaimBundle | None = event.gated.bundle
        proposers: tuple[str, ...] = (event.proposer,)
    elif isinstance(event, ApprovalDecided):
        bundle, proposers = None if event.gated is None else event.gated.bundle, event.approval.proposers
    elif isinstance(event, ApprovalClosed):
        bundle, proposers = event.bundle, event.approval.proposers
    else:
        return None
    if bundle is None or bundle.id != bundle_id or bundle.decision != "PUBLISH":
        return None
    names = tuple(claim_id(claim, place) for place, claim in enumerate(bundle.claims, 1))
    return PublishedBundle(proposers=proposers, claim_ids=names)
