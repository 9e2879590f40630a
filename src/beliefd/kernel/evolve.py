"""evolve(state, event) -> state: folds what was decided. It never decides and never fails."""

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals import folds as approvals
from beliefd.kernel.beliefs import folds as beliefs
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.beliefs.events import Eliminated, Merged
from beliefd.kernel.beliefs.state import Beliefs
from beliefd.kernel.beliefs.survivors import Survivors, Universe
from beliefd.kernel.catalogues import folds as catalogues
from beliefd.kernel.claims import folds as claims
from beliefd.kernel.context import folds as context
from beliefd.kernel.erasures import folds as erasures
from beliefd.kernel.events import Event
from beliefd.kernel.experiments import folds as experiments
from beliefd.kernel.intents import folds as intents
from beliefd.kernel.measurements import folds as measurements
from beliefd.kernel.observations import folds as observations
from beliefd.kernel.scheduling import folds as scheduling
from beliefd.kernel.speculation import folds as speculation
from beliefd.kernel.state import Session
from beliefd.kernel.substrate import folds as substrate
from beliefd.kernel.system import folds as system
from beliefd.kernel.tables import Folds
from beliefd.kernel.transfers import folds as transfers

FOLDS: Final[Folds] = {
    **beliefs.FOLDS,
    **claims.FOLDS,
    **approvals.FOLDS,
    **substrate.FOLDS,
    **scheduling.FOLDS,
    **context.FOLDS,
    **observations.FOLDS,
    **measurements.FOLDS,
    **experiments.FOLDS,
    **intents.FOLDS,
    **speculation.FOLDS,
    **system.FOLDS,
    **catalogues.FOLDS,
    **transfers.FOLDS,
    **erasures.FOLDS,
}


def begin(session_id: str, command: DeclareSession) -> Session:
    """The state right after `Declared`: every hypothesis stands."""
    return Session(
        session_id=session_id,
        ontology=command.ontology,
        options=command.options,
        metadata=command.metadata,
        beliefs=Beliefs(survivors=Survivors(Universe(command.hypotheses))),
    )


def evolve(session: Session, event: Event) -> Session:
    # INVARIANT: refused means nothing happened; `Refused` has no fold, so the state stays what it was.
    fold = FOLDS.get(type(event))
    return session if fold is None else fold(session, event)


def evolve_all(session: Session, events: Iterable[Event]) -> Session:
    """Evolve through many events. Eliminations between two other events are one union, applied at once."""
    gone: list[str] = []
    witnessed = 0
    for event in events:
        if type(event) is Eliminated:
            gone += event.eliminated
            if event.label is not UNSET:
                witnessed += beliefs.witnessed_in(event)
        elif type(event) is Merged:
            gone += event.eliminated
            witnessed += beliefs.witnessed_in(event)
        else:
            session = evolve(_without(session, gone, witnessed), event)
            gone, witnessed = [], 0
    return _without(session, gone, witnessed)


def _without(session: Session, gone: list[str], witnessed: int) -> Session:
    return replace(session, beliefs=session.beliefs.without(gone, witnessed)) if gone else session
