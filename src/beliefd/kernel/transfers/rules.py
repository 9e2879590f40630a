"""A session that began elsewhere is taken in once per import."""

from typing import Final

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules
from beliefd.kernel.transfers.commands import ReceiveLedger
from beliefd.kernel.transfers.events import LedgerReceived


def receive_ledger(session: Session, command: ReceiveLedger, facts: Facts) -> LedgerReceived | Refused:
    if session.transfers.foreign == command.foreign:
        return refused(Code.CONFLICT, "the session is taken in already", "$.foreign")
    return LedgerReceived(foreign=command.foreign, at=facts.now)


RULES: Final[Rules] = {ReceiveLedger: receive_ledger}
