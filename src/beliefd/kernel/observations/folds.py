"""How observations change the state of a session."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.observations.events import Observed
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Folds


def observed(session: Session, event: Observed) -> Session:
    one = event.observation
    held = replace(session.observations, by_id=session.observations.by_id.insert(one.observation_id, one))
    return replace(session, observations=held)


FOLDS: Final[Folds] = {Observed: observed}
