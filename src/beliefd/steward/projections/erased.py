"""What sessions had erased, as rows: a store that has such a row does not keep the content.

So content that comes back with an old copy of the store is gone again as soon as this is built anew.
"""

from collections.abc import Iterable
from typing import Final

from beliefd.kernel.erasures.events import Erased
from beliefd.kernel.state import Session
from beliefd.stores.projections import ErasedRow

TOUCHING: Final = frozenset({Erased})


def erased_rows(event: Erased, session: Session) -> Iterable[ErasedRow]:
    return (ErasedRow(session.session_id, digest, event.event_id) for digest in event.digests)


def all_rows(session: Session) -> Iterable[ErasedRow]:
    held = session.erasures.erased
    return (ErasedRow(session.session_id, digest, held[digest]) for digest in held)
