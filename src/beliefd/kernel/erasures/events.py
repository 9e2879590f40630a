"""What happens to texts beside the ledger."""

from beliefd.kernel.event import EventBase


class Erased(EventBase, frozen=True, tag="erased"):
    """What had these digests is no longer kept: it cannot be read, here or from the digests."""

    event_id: str
    digests: tuple[str, ...]
    reason: str


ErasureEvent = Erased
