"""How the events of catalogues change the state of a session."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.catalogues.events import ToolsPinned
from beliefd.kernel.catalogues.state import Waiting
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Folds


def tools_pinned(session: Session, event: ToolsPinned) -> Session:
    held, approvals = session.catalogue, session.approvals
    for pin in event.pinned:
        held = held.with_pin(pin)
    offered = held.offered
    for name in event.restored:
        offered = offered.discard(name)
    for offer in event.offers:
        offered = offered.insert(offer.name, Waiting(hash=offer.hash, approval_id=offer.approval.approval_id))
        approvals = approvals.with_approval(offer.approval)
    return replace(session, catalogue=replace(held, offered=offered), approvals=approvals)


FOLDS: Final[Folds] = {ToolsPinned: tools_pinned}
