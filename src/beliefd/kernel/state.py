"""The state of a session: one part per vocabulary, each a fold of the ledger and nothing else."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.approvals.state import Approvals
from beliefd.kernel.beliefs.commands import SessionOptions
from beliefd.kernel.beliefs.state import Beliefs
from beliefd.kernel.catalogues.state import Catalogue
from beliefd.kernel.claims.state import Claims
from beliefd.kernel.context.state import Context
from beliefd.kernel.erasures.state import Erasures
from beliefd.kernel.experiments.state import Experiments
from beliefd.kernel.intents.state import Intents
from beliefd.kernel.measurements.state import Measurements
from beliefd.kernel.observations.state import Observations
from beliefd.kernel.scheduling.state import Scheduling
from beliefd.kernel.speculation.state import Speculations
from beliefd.kernel.substrate.state import Substrate
from beliefd.kernel.system.state import System
from beliefd.kernel.transfers.state import Transfers
from beliefd.kernel.values import Object, OntologyBundle

NO_SPECULATION: Final = Speculations()


class Session(Struct, frozen=True):
    """Everything that is known of a session: what was declared, then the parts."""

    session_id: str
    ontology: OntologyBundle
    options: SessionOptions
    metadata: Object
    beliefs: Beliefs
    claims: Claims = Claims()
    approvals: Approvals = Approvals()
    substrate: Substrate = Substrate()
    context: Context = Context()
    observations: Observations = Observations()
    measurements: Measurements = Measurements()
    experiments: Experiments = Experiments()
    intents: Intents = Intents()
    speculation: Speculations = NO_SPECULATION
    system: System = System()
    transfers: Transfers = Transfers()
    catalogue: Catalogue = Catalogue()
    scheduling: Scheduling = Scheduling()
    erasures: Erasures = Erasures()


def has_ended(session: Session) -> bool:
    """Does nothing go on in it any more, unless it is unsealed?"""
    return session.beliefs.terminated or session.transfers.seal is not None


def grounded(session: Session) -> Session:
    """The session without its speculative part: all that a rule of the grounded lane is shown."""
    if session.speculation is NO_SPECULATION:
        return session
    return replace(session, speculation=NO_SPECULATION)
