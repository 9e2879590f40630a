"""Facts that are looked up in the ledger itself, so that they can be looked up in another ledger again."""

from collections.abc import Iterable

from beliefd.kernel.substrate.tools import MemoryFindings
from beliefd.kernel.transfers.state import Transfers
from beliefd.kernel.witness import witness_of
from beliefd.ledger.envelope import Entry


def confirmation_among(entries: Iterable[Entry], event_id: str, transfers: Transfers) -> MemoryFindings:
    """What the event of this id bears witness to, if it is among these.

    INVARIANT: what was written elsewhere confirms nothing here. Who brought it can have written it.
    """
    found = next((entry for entry in entries if entry.event_id == event_id), None)
    if found is None:
        return MemoryFindings()
    if transfers.holds(found.seq):
        return MemoryFindings(elsewhere=True)
    return MemoryFindings(witness=witness_of(found.delta, found.actor))
