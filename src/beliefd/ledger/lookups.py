"""Facts that are looked up in the ledger itself, so that they can be looked up in another ledger again."""

from collections.abc import Iterable

from beliefd.kernel.substrate.tools import MemoryFindings
from beliefd.kernel.witness import witness_of
from beliefd.ledger.envelope import Entry


def confirmation_among(entries: Iterable[Entry], event_id: str) -> MemoryFindings:
    """What the event of this id bears witness to, if it is among these."""
    found = (entry for entry in entries if entry.event_id == event_id)
    return MemoryFindings(witness=next((witness_of(one.delta, one.actor) for one in found), None))
