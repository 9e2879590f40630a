"""A ledger without its speculation, to show that nothing else depends on it (law 3)."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from beliefd.kernel.canonical import digest
from beliefd.kernel.commands import COMMAND_OF
from beliefd.kernel.policy import Policy
from beliefd.kernel.speculation import rules as speculation
from beliefd.kernel.speculation.events import SpeculationEvent
from beliefd.kernel.speculation.lanes import GROUNDED, SPECULATIVE, Lane
from beliefd.kernel.state import Session, grounded
from beliefd.kernel.substrate.commands import Remember
from beliefd.kernel.transfers.events import LedgerReceived
from beliefd.kernel.transfers.state import Transfers
from beliefd.ledger.envelope import Entry, command_of
from beliefd.ledger.lookups import confirmation_among
from beliefd.ledger.replay import Redecided, redecide
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


def decided_again(entries: Iterable[Entry], policies: dict[str, Policy]) -> Iterator[Redecided]:
    """Every command decided again on these records alone: what was looked up in the ledger is, too.

    Links are not checked: records may have been left out.
    """
    return redecide(_looked_up_again(entries), policies)


def grounded_again(entries: Iterable[Entry], policies: dict[str, Policy]) -> Session | None:
    """The state that a ledger would have come to if nobody had ever speculated."""
    session: Session | None = None
    for step in decided_again(without_speculation(entries), policies):
        session = step.session
    return session


def _looked_up_again(entries: Iterable[Entry]) -> Iterator[Entry]:
    """INVARIANT: a fact that came from the ledger is true of the records that are left, not of those that are
    gone."""
    known: dict[str, Entry] = {}
    transfers = Transfers()
    for entry in entries:
        command = command_of(entry) if COMMAND_OF[entry.verb] is Remember else None
        if isinstance(command, Remember) and (name := command.entry.confirmed_by_event_id) is not None:
            named = (known[name],) if name in known else ()
            yield replace(entry, facts=confirmation_among(named, name, transfers))
        else:
            yield entry
        known[entry.event_id] = entry
        if isinstance(entry.delta, LedgerReceived):
            transfers = Transfers(foreign=entry.delta.foreign)
