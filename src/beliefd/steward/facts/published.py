"""What the ledger says of bundles that were published, and of words that were rejected elsewhere."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.approvals.publishing import published_by
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.endings import PublishedBundle
from beliefd.kernel.claims.findings import RejectedBefore
from beliefd.kernel.events import Event
from beliefd.kernel.measurements.state import gist_digest
from beliefd.kernel.state import Session
from beliefd.knowledge.schema import REJECTED_WORDS
from beliefd.ledger.envelope import Sealed, read
from beliefd.steward.entries import entry_of
from beliefd.steward.graph import Graph
from beliefd.stores.base import Store
from beliefd.stores.within import Within

MOST_REJECTIONS: Final = 1_000


async def published(
    store: Store, session: Session, bundle_id: str, unwritten: Sequence[Sealed]
) -> PublishedBundle | UnsetType:
    """A published bundle, from the event that the state names. It may be decided and not written yet."""
    state = session.claims.bundles.get(bundle_id)
    if state is None or state.decision != "PUBLISH":
        return UNSET
    here = next((one for one in unwritten if one.event_id == state.event_id), None)
    event: Event = (
        read(here.record).delta
        if here is not None
        else (await entry_of(store, session.session_id, state.event_id)).delta
    )
    return published_by(event, bundle_id) or UNSET


async def rejected_elsewhere(
    graph: Graph, bundle: ClaimBundle, session: Session | None, within: Within
) -> dict[str, RejectedBefore]:
    """The last time that people rejected the same words in another session, by the digest of the words."""
    words = sorted({gist_digest(claim.statement) for claim in bundle.claims})
    here = None if session is None else session.session_id
    found: dict[str, RejectedBefore] = {}
    for session_id, one in await graph.said(REJECTED_WORDS, words, MOST_REJECTIONS, within, but=here):
        rejected = msgspec.structs.replace(one.rejection, session_id=session_id)
        if one.words not in found or found[one.words].at < rejected.at:
            found[one.words] = rejected
    return found
