"""What is written into a ledger from elsewhere before anything else is decided in it, and at the end of one
that is to be put away."""

from beliefd.kernel.transfers.state import Foreign, Reason
from beliefd.kernel.values import Value


class ReceiveLedger(Value, frozen=True, tag_field="verb", tag="RECEIVE_LEDGER"):
    """Go on with a session that began elsewhere."""

    foreign: Foreign


class SealSession(Value, frozen=True, tag_field="verb", tag="SEAL_SESSION"):
    """Let nothing more be written into a session, so that it can be archived."""

    reason: Reason = ""


class UnsealSession(Value, frozen=True, tag_field="verb", tag="UNSEAL_SESSION"):
    """Let a sealed session go on."""

    reason: Reason = ""


TransferCommand = ReceiveLedger | SealSession | UnsealSession
