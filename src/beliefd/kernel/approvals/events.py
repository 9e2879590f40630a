"""What can happen to approvals and grants."""

from typing import Literal

from msgspec import UNSET, UnsetType

from beliefd.kernel.approvals.state import Approval, ApprovalDecision, Grant
from beliefd.kernel.catalogues.state import Pinned
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.events import Gated
from beliefd.kernel.event import EventBase
from beliefd.kernel.intents.state import Intent, Proposition
from beliefd.kernel.substrate.derived import Derivation
from beliefd.kernel.substrate.events import CandidateResult, ModeChange

Ending = Literal["withdrawn", "refuse", "escalate", "keep", "lapse"]


class ApprovalDecided(EventBase, frozen=True, tag="approval_decided"):
    """A person decided. `gated` is the resumed chain of a bundle, `result` the verdict on a confirmed call or
    change of state; with neither, and not rejected, more people must agree first.

    `intents` and `propositions` are those that it changes, `opened` is the approval of the intent that came
    out of an edit. `pinned` is the definition of a tool that counts from now on. `derived` is what the rules
    of the policy made of the state before the result.
    """

    event_id: str
    approval_id: str
    decision: ApprovalDecision
    approver: str
    approval: Approval
    gated: Gated | None = None
    replaced: ClaimBundle | None = None
    result: CandidateResult | None = None
    mode: ModeChange | None = None
    intents: tuple[Intent, ...] = ()
    propositions: tuple[Proposition, ...] = ()
    opened: Approval | None = None
    pinned: Pinned | UnsetType = UNSET
    derived: Derivation | UnsetType = UNSET


class ApprovalClosed(EventBase, frozen=True, tag="approval_closed"):
    """An approval ended without a person's yes or no: withdrawn by its proposer, or timed out.

    `outcome` says what policy made of a time-out; it is never told as a denial. What was there for
    information only lapses.
    """

    event_id: str
    approval_id: str
    outcome: Ending
    approval: Approval
    bundle: ClaimBundle | None = None
    successor: Approval | None = None
    intents: tuple[Intent, ...] = ()


class GrantGiven(EventBase, frozen=True, tag="grant_given"):
    """A standing grant was given."""

    grant: Grant


class GrantRevoked(EventBase, frozen=True, tag="grant_revoked"):
    """A standing grant has ended."""

    grant: Grant


ApprovalEvent = ApprovalDecided | ApprovalClosed | GrantGiven | GrantRevoked
