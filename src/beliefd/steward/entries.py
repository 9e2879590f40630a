"""Single entries of a ledger, found by the events that the state names."""

from beliefd.ledger.envelope import Entry, LedgerBroken, read
from beliefd.stores.base import Store


async def entry_of(store: Store, session_id: str, event_id: str) -> Entry:
    seq = await store.seq_of(session_id, event_id)
    entries = [] if seq is None else await store.entries(session_id, seq - 1, 1)
    if not entries:
        raise LedgerBroken(seq or 0, event_id, "the state names an event that is not there")
    return read(entries[0].record)
