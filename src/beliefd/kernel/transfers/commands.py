"""What is written into a ledger from elsewhere before anything else is decided in it here."""

from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import Value


class ReceiveLedger(Value, frozen=True, tag_field="verb", tag="RECEIVE_LEDGER"):
    """Go on with a session that began elsewhere."""

    foreign: Foreign


TransferCommand = ReceiveLedger
