"""What the steward looked up before it asked for a decision. All of it is recorded with the decision."""

from msgspec import Struct

from beliefd.kernel.approvals.findings import AuthorityFindings
from beliefd.kernel.beliefs.findings import CitationFindings
from beliefd.kernel.claims.endings import RetractionFindings
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.context.findings import ContextFindings
from beliefd.kernel.erasures.findings import ErasureFindings
from beliefd.kernel.experiments.findings import ExperimentFindings
from beliefd.kernel.measurements.findings import MeasurementFindings
from beliefd.kernel.observations.findings import ObservationFindings
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.tools import MemoryFindings, ProposalFindings, StartFindings
from beliefd.kernel.values import Principal

Findings = (
    ClaimFindings
    | RetractionFindings
    | ProposalFindings
    | StartFindings
    | MemoryFindings
    | ContextFindings
    | ObservationFindings
    | MeasurementFindings
    | ExperimentFindings
    | CitationFindings
    | AuthorityFindings
    | ErasureFindings
)


class Facts(Struct, frozen=True, kw_only=True):
    """The outside world, as far as `decide` may know it."""

    now: str
    event_id: str
    principal: Principal
    policy: Policy
    policy_hash: str
    findings: Findings | None = None
    notes: str | None = None
