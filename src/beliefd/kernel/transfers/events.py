"""What happens to a session that began elsewhere, once it goes on here, and to one that is put away."""

from beliefd.kernel.event import EventBase
from beliefd.kernel.transfers.state import Foreign, Seal


class LedgerReceived(EventBase, frozen=True, tag="ledger_received"):
    """What was said up to here was said elsewhere. Its grants and capabilities end, words on what waits do
    not count, nothing counts as witnessed or confirmed, and who brought it counts as a proposer of what
    waits."""

    foreign: Foreign
    at: str


class SessionSealed(EventBase, frozen=True, tag="session_sealed"):
    """The last event of a session, unless it is unsealed."""

    seal: Seal


class SessionUnsealed(EventBase, frozen=True, tag="session_unsealed"):
    """The session goes on."""

    by: str
    reason: str


TransferEvent = LedgerReceived | SessionSealed | SessionUnsealed
