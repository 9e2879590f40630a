"""All operations as methods, whoever sends their requests."""

from beliefd.client.approvals import ApprovalCalls
from beliefd.client.archives import ArchiveCalls
from beliefd.client.beliefs import BeliefCalls
from beliefd.client.catalogues import CatalogueCalls
from beliefd.client.claims import ClaimCalls
from beliefd.client.content import ContentCalls
from beliefd.client.context import ContextCalls
from beliefd.client.erasures import ErasureCalls
from beliefd.client.experiments import ExperimentCalls
from beliefd.client.hooks import HookCalls
from beliefd.client.intents import IntentCalls
from beliefd.client.knowledge import KnowledgeCalls
from beliefd.client.ledger import LedgerCalls
from beliefd.client.log import LogCalls
from beliefd.client.measurements import MeasurementCalls
from beliefd.client.observations import ObservationCalls
from beliefd.client.policy import PolicyCalls
from beliefd.client.scheduling import SchedulingCalls
from beliefd.client.spaces import SpaceCalls
from beliefd.client.speculation import SpeculationCalls
from beliefd.client.substrate import SubstrateCalls
from beliefd.client.uncertainty import UncertaintyCalls


class Operations(
    BeliefCalls,
    LedgerCalls,
    LogCalls,
    ArchiveCalls,
    ClaimCalls,
    ContentCalls,
    ErasureCalls,
    ApprovalCalls,
    PolicyCalls,
    SpaceCalls,
    SubstrateCalls,
    SchedulingCalls,
    ContextCalls,
    HookCalls,
    CatalogueCalls,
    SpeculationCalls,
    ObservationCalls,
    MeasurementCalls,
    ExperimentCalls,
    IntentCalls,
    KnowledgeCalls,
    UncertaintyCalls,
):
    """One method per operation; taken from this class, it makes a request and sends nothing."""
