"""What can happen to claims."""

from msgspec import UNSET

from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.claims.tiers import Raised
from beliefd.kernel.event import EventBase
from beliefd.kernel.values import Value


class Gated(Value, frozen=True):
    """A bundle's way through the gates: how far it came, what must be said with it, and who is asked.

    `raised` are the claims whose tier is higher than declared; the others have the tier that they declare.
    """

    bundle: ClaimBundle
    content_hash: str
    results: tuple[GateResult, ...]
    caveats: tuple[str, ...] = ()
    approval: Approval | None = None
    raised: Raised = UNSET


class BundleGated(EventBase, frozen=True, tag="bundle_gated"):
    """A bundle was submitted and judged. `superseded` is the open approval that it replaces."""

    event_id: str
    gated: Gated
    proposer: str
    superseded: str | None = None
    grant_id: str | None = None


ClaimEvent = BundleGated
