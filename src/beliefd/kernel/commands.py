"""All commands: the union of what the vocabularies take. Parsing them is the only input check."""

from typing import Final

from beliefd.kernel.approvals.commands import ApprovalCommand
from beliefd.kernel.attempts.commands import AttemptCommand
from beliefd.kernel.beliefs.commands import BeliefCommand
from beliefd.kernel.catalogues.commands import CatalogueCommand
from beliefd.kernel.claims.commands import ClaimCommand
from beliefd.kernel.context.commands import ContextCommand
from beliefd.kernel.erasures.commands import ErasureCommand
from beliefd.kernel.experiments.commands import ExperimentCommand
from beliefd.kernel.intents.commands import IntentCommand
from beliefd.kernel.measurements.commands import MeasurementCommand
from beliefd.kernel.observations.commands import ObservationCommand
from beliefd.kernel.scheduling.commands import SchedulingCommand
from beliefd.kernel.speculation.commands import SpeculationCommand
from beliefd.kernel.substrate.commands import SubstrateCommand
from beliefd.kernel.system.commands import SystemCommand
from beliefd.kernel.transfers.commands import TransferCommand

Command = (
    BeliefCommand
    | ClaimCommand
    | ApprovalCommand
    | SubstrateCommand
    | SchedulingCommand
    | ContextCommand
    | ObservationCommand
    | MeasurementCommand
    | ExperimentCommand
    | IntentCommand
    | SpeculationCommand
    | AttemptCommand
    | SystemCommand
    | CatalogueCommand
    | TransferCommand
    | ErasureCommand
)
VERB_OF: Final[dict[type, str]] = {kind: str(kind.__struct_config__.tag) for kind in Command.__args__}
COMMAND_OF: Final[dict[str, type]] = {verb: kind for kind, verb in VERB_OF.items()}


def verb_of(command: Command) -> str:
    return VERB_OF[type(command)]
