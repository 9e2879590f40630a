"""What a session was told as the user's word before it asked for a call: read beside the ledger."""

from typing import Final

from beliefd.kernel.context.state import ContextRecord
from beliefd.kernel.context.told import read
from beliefd.kernel.state import Session
from beliefd.protocol.asked import UserText
from beliefd.steward.facts.hashing import sha256_of
from beliefd.steward.handlers.shared import view_of
from beliefd.stores.base import Store
from beliefd.stores.within import Within

SHOWN: Final = 3
LETTERS: Final = 1_000
LOOKED_AT: Final = 200
"""So many items are gone back over, at most: results of tools may stand between the user's words."""


async def user_texts(store: Store, session: Session, before: int, readable: Within) -> list[UserText]:
    """The last ones that were told before event `before`, the newest last."""
    items = session.context.items
    found: list[UserText] = []
    for number in range(len(items), max(0, len(items) - LOOKED_AT), -1):
        record = items[str(number)]
        if record.kind != "user":
            continue
        seq = await store.seq_of(session.session_id, record.event_id)
        if seq is not None and seq < before:
            found.insert(0, await _shown(store, record, readable))
        if len(found) == SHOWN:
            break
    return found


async def _shown(store: Store, record: ContextRecord, readable: Within) -> UserText:
    """INVARIANT: what was erased is not given out, and nothing else than what was told under this hash."""
    name = record.content or ""
    is_erased = bool(await store.erased([name]))
    document = None if is_erased else await store.content(name, readable)
    intact = document is not None and await sha256_of(document) == name
    told = read(document) if document is not None and intact else None
    return view_of(
        UserText,
        record,
        text=None if told is None else told.text[:LETTERS],
        cut=told is not None and len(told.text) > LETTERS,
        erased=is_erased,
    )
