"""A session that began elsewhere is taken in once per import."""

from typing import Final

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules
from beliefd.kernel.transfers.commands import TakeIn
from beliefd.kernel.transfers.events import TakenIn


def take_in(session: Session, command: TakeIn, facts: Facts) -> TakenIn | Refused:
    if session.transfers.foreign == command.foreign:
        return refused(Code.CONFLICT, "the session is taken in already", "$.foreign")
    return TakenIn(foreign=command.foreign, at=facts.now)


RULES: Final[Rules] = {TakeIn: take_in}
