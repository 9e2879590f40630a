"""How erasures change the state of a session."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.erasures.events import Erased
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Folds


def erased(session: Session, event: Erased) -> Session:
    held = session.erasures.erased
    for digest in event.digests:
        held = held.insert(digest, event.event_id)
    return replace(session, erasures=replace(session.erasures, erased=held))


FOLDS: Final[Folds] = {Erased: erased}
