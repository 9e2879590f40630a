"""How context changes the state of a session."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.context.commands import ANNOUNCEMENT
from beliefd.kernel.context.events import ContextAdded
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Folds


def context_added(session: Session, event: ContextAdded) -> Session:
    if event.item.kind == ANNOUNCEMENT:  # it says nothing that a call could rest on
        return session
    return replace(session, context=session.context.with_item(event.item))


FOLDS: Final[Folds] = {ContextAdded: context_added}
