"""What can happen to claims."""

from msgspec import UNSET, UnsetType

from beliefd.kernel.approvals.state import Approval, Shaped
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.endings import Ended
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.claims.standing import Standings
from beliefd.kernel.claims.tiers import Raised
from beliefd.kernel.event import EventBase
from beliefd.kernel.measurements.state import Measurement
from beliefd.kernel.values import Value


class Gated(Value, frozen=True):
    """A bundle's way through the gates: how far it came, what must be said with it, and who is asked.

    `standings` is what its claims rest on, as far as that is known here. `raised` are the claims whose tier
    is higher than declared; the others have the tier that they declare. `ended` is what it corrects, if it
    is published. `shaped` says who shaped its claims.
    """

    bundle: ClaimBundle
    content_hash: str
    results: tuple[GateResult, ...]
    caveats: tuple[str, ...] = ()
    approval: Approval | None = None
    standings: Standings | UnsetType = UNSET
    raised: Raised = UNSET
    ended: Ended | UnsetType = UNSET
    shaped: Shaped | UnsetType = UNSET


class BundleGated(EventBase, frozen=True, tag="bundle_gated"):
    """A bundle was submitted and judged. `superseded` is the open approval that it replaces.

    `receipts` were made of the raw answers that came with it.
    """

    event_id: str
    gated: Gated
    proposer: str
    superseded: str | None = None
    grant_id: str | None = None
    receipts: tuple[Measurement, ...] | UnsetType = UNSET


class ClaimsRetracted(EventBase, frozen=True, tag="claims_retracted"):
    """Claims that were published do not stand any more. They stay in the ledger, shown as retracted."""

    event_id: str
    ended: Ended


ClaimEvent = BundleGated | ClaimsRetracted
