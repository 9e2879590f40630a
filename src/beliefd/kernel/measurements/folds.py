"""How measurements change the state of a session."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.measurements.events import Measured
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Folds


def measured(session: Session, event: Measured) -> Session:
    return replace(session, measurements=session.measurements.with_receipts((event.measurement,)))


FOLDS: Final[Folds] = {Measured: measured}
