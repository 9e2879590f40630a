"""Every operation there is: the rows of all vocabularies."""

from typing import Final

from beliefd.protocol.approvals import ApprovalRows
from beliefd.protocol.archives import ArchiveRows
from beliefd.protocol.beliefs import BeliefRows
from beliefd.protocol.catalogues import CatalogueRows
from beliefd.protocol.claims import ClaimRows
from beliefd.protocol.content import ContentRows
from beliefd.protocol.context import ContextRows
from beliefd.protocol.erasures import ErasureRows
from beliefd.protocol.experiments import ExperimentRows
from beliefd.protocol.hooks import HookRows
from beliefd.protocol.intents import IntentRows
from beliefd.protocol.knowledge import KnowledgeRows
from beliefd.protocol.ledger import LedgerRows
from beliefd.protocol.log import LogRows
from beliefd.protocol.measurements import MeasurementRows
from beliefd.protocol.observations import ObservationRows
from beliefd.protocol.operation import Operation, Parameter, Vocabulary
from beliefd.protocol.policy import PolicyRows
from beliefd.protocol.scheduling import SchedulingRows
from beliefd.protocol.spaces import SpaceRows
from beliefd.protocol.speculation import SpeculationRows
from beliefd.protocol.substrate import SubstrateRows
from beliefd.protocol.tokens import TokenRows
from beliefd.protocol.uncertainty import UncertaintyRows

__all__ = ["BY_NAME", "OPERATIONS", "VOCABULARIES", "Operation", "Parameter"]

VOCABULARIES: Final[tuple[type[Vocabulary], ...]] = (
    BeliefRows,
    LedgerRows,
    LogRows,
    ArchiveRows,
    ClaimRows,
    ContentRows,
    ErasureRows,
    ApprovalRows,
    PolicyRows,
    SpaceRows,
    TokenRows,
    SubstrateRows,
    SchedulingRows,
    ContextRows,
    HookRows,
    CatalogueRows,
    SpeculationRows,
    ObservationRows,
    MeasurementRows,
    ExperimentRows,
    IntentRows,
    KnowledgeRows,
    UncertaintyRows,
)
OPERATIONS: Final[tuple[Operation, ...]] = tuple(row for one in VOCABULARIES for row in one.rows())
BY_NAME: Final = {operation.name: operation for operation in OPERATIONS}
