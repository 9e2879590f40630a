"""A ledger without its speculation, to show that nothing else depends on it (law 3)."""

from collections.abc import Iterable

from beliefd.kernel.canonical import digest
from beliefd.kernel.commands import COMMAND_OF
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.speculation import rules as speculation
from beliefd.kernel.speculation.events import SpeculationEvent
from beliefd.kernel.speculation.lanes import GROUNDED, SPECULATIVE, Lane
from beliefd.kernel.state import Session, grounded
from beliefd.ledger.envelope import Entry, declaration
from beliefd.ledger.state_hash import state_document


def lane_of(entry: Entry) -> Lane:
    """The lane of a record, by what was asked and decided, and not by what was claimed.

    What the speculative lane refuses is of that lane, too: why it did depends on what is in it.
    """
    speculates = COMMAND_OF[entry.verb] in speculation.RULES or isinstance(entry.delta, SpeculationEvent)
    return SPECULATIVE if speculates else GROUNDED


def without_speculation(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if lane_of(entry) == GROUNDED]


def grounded_hash(session: Session) -> str:
    """sha256 over the canonical form of all of a state but its speculative part."""
    return digest(state_document(grounded(session)))


def refolded(entries: Iterable[Entry]) -> Session | None:
    """The state that these records fold to. Links are not checked: records may have been left out."""
    session: Session | None = None
    for entry in entries:
        if session is None:
            session = begin(entry.session_id, declaration(entry))
        else:
            session = evolve(session, entry.delta)
    return session
