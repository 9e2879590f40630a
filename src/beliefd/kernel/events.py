"""All events: the union of what can happen in the vocabularies. An event is the `delta` of a ledger entry."""

from typing import Final

from beliefd.kernel.approvals.events import ApprovalEvent
from beliefd.kernel.beliefs.events import BeliefEvent
from beliefd.kernel.catalogues.events import CatalogueEvent
from beliefd.kernel.claims.events import ClaimEvent
from beliefd.kernel.context.events import ContextEvent
from beliefd.kernel.erasures.events import ErasureEvent
from beliefd.kernel.event import Refused
from beliefd.kernel.experiments.events import ExperimentEvent
from beliefd.kernel.intents.events import IntentEvent
from beliefd.kernel.measurements.events import MeasurementEvent
from beliefd.kernel.observations.events import ObservationEvent
from beliefd.kernel.scheduling.events import SchedulingEvent
from beliefd.kernel.speculation.events import SpeculationEvent
from beliefd.kernel.substrate.events import SubstrateEvent
from beliefd.kernel.system.events import SystemEvent
from beliefd.kernel.transfers.events import TransferEvent

Event = (
    BeliefEvent
    | Refused
    | ClaimEvent
    | ApprovalEvent
    | SubstrateEvent
    | SchedulingEvent
    | ContextEvent
    | ObservationEvent
    | MeasurementEvent
    | ExperimentEvent
    | IntentEvent
    | SpeculationEvent
    | SystemEvent
    | CatalogueEvent
    | TransferEvent
    | ErasureEvent
)
KIND_OF: Final[dict[type, str]] = {kind: str(kind.__struct_config__.tag) for kind in Event.__args__}


def kind_of(event: Event) -> str:
    return KIND_OF[type(event)]
