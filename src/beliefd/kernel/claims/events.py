"""What can happen to claims and approvals."""

from typing import Literal

from beliefd.kernel.claims.approvals import Approval, Verdict
from beliefd.kernel.claims.bundle import ClaimBundle, TierName
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.firewall.artifacts import Intent, Proposition
from beliefd.kernel.happening import Happening
from beliefd.kernel.substrate.events import CandidateResult, ModeChange
from beliefd.kernel.values import Value


class Gated(Value, frozen=True):
    """A bundle's way through the gates: how far it came, what must be said with it, and who is asked."""

    bundle: ClaimBundle
    content_hash: str
    results: tuple[GateResult, ...]
    caveats: tuple[str, ...] = ()
    approval: Approval | None = None


class BundleGated(Happening, frozen=True, tag="bundle_gated"):
    """A bundle was submitted and judged. `superseded` is the open approval that it replaces."""

    event_id: str
    gated: Gated
    proposer: str
    superseded: str | None = None
    grant_id: str | None = None


class ApprovalDecided(Happening, frozen=True, tag="approval_decided"):
    """A person decided. `gated` is the resumed chain of a bundle, `result` the verdict on a confirmed call or
    change of state; with neither, and not rejected, more people must agree first.

    `intents` and `propositions` are those that it changes, `opened` is the approval of the intent that came
    out of an edit.
    """

    event_id: str
    approval_id: str
    decision: Verdict
    approver: str
    approval: Approval
    gated: Gated | None = None
    replaced: ClaimBundle | None = None
    result: CandidateResult | None = None
    mode: ModeChange | None = None
    intents: tuple[Intent, ...] = ()
    propositions: tuple[Proposition, ...] = ()
    opened: Approval | None = None


class ApprovalClosed(Happening, frozen=True, tag="approval_closed"):
    """An approval ended without a person's yes or no: withdrawn by its proposer, or timed out.

    `outcome` says what policy made of a time-out; it is never told as a denial. What was there for
    information only lapses.
    """

    event_id: str
    approval_id: str
    outcome: Literal["withdrawn", "refuse", "escalate", "keep", "lapse"]
    approval: Approval
    bundle: ClaimBundle | None = None
    successor: Approval | None = None
    intents: tuple[Intent, ...] = ()


class Grant(Value, frozen=True):
    """Standing consent for one principal in one session, up to MODIFY and never beyond."""

    grant_id: str
    principal: str
    tiers: tuple[TierName, ...]
    granted_by: str
    granted_at: str
    expires_at: str
    max_uses: int
    uses: int = 0
    revoked_at: str | None = None


class GrantGiven(Happening, frozen=True, tag="grant_given"):
    grant: Grant


class GrantRevoked(Happening, frozen=True, tag="grant_revoked"):
    grant: Grant
