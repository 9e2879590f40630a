"""What happens to a session that began elsewhere, once it goes on here."""

from beliefd.kernel.event import EventBase
from beliefd.kernel.transfers.state import Foreign


class LedgerReceived(EventBase, frozen=True, tag="ledger_received"):
    """What was said up to here was said elsewhere. Its grants and capabilities end, words on what waits do
    not count, nothing counts as witnessed or confirmed, and who brought it counts as a proposer of what
    waits."""

    foreign: Foreign
    at: str


TransferEvent = LedgerReceived
