"""Approvals: durable records of what waits for a person, and of what that person decided (DESIGN 10)."""

from datetime import UTC, datetime
from typing import Final, Literal

from msgspec import Struct

from beliefd.kernel.claims.bundle import ClaimBundle, HumanApproval, seconds
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.policy import ApprovalPolicy, ApproverRule
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.values import Principal

ApprovalStatus = Literal[
    "pending", "approved", "rejected", "modified", "timed_out", "withdrawn", "superseded", "information"
]
Verdict = Literal["APPROVED", "REJECTED", "MODIFIED"]
OPEN: Final = ("pending", "information")


class Approval(Struct, frozen=True, kw_only=True):
    """One item of the inbox. `bundle` is kept while it is open, so that exactly that is judged again."""

    approval_id: str
    bundle_id: str
    bundle: ClaimBundle | None
    call: CallCandidate | None = None
    content_hash: str
    proposers: tuple[str, ...]
    proposer: Principal
    gate: str
    tier: str
    reason: str
    results: tuple[GateResult, ...]
    rule: ApproverRule
    opened_at: str
    expires_at: str
    status: ApprovalStatus = "pending"
    approvals: tuple[HumanApproval, ...] = ()
    approved_gates: tuple[str, ...] = ()
    overdue: bool = False
    successor: str | None = None

    @property
    def allowed(self) -> tuple[Verdict, ...]:
        """What may be decided. Where nobody may approve, nobody may edit: that would be a way around."""
        if self.status != "pending":
            return ()
        return (
            ("APPROVED", "REJECTED", "MODIFIED") if self.rule.roles or self.rule.principals else ("REJECTED",)
        )


def required_approvals(rule: ApproverRule) -> tuple[str, ...]:
    """Who can decide, as the bundle's `required_approvals` tells it."""
    return (*rule.principals, *(f"role://{role}" for role in rule.roles))


def may_decide(rule: ApproverRule, principal: Principal) -> bool:
    return principal.role in rule.roles or principal.id in rule.principals


def rejecting_rule(rule: ApproverRule, policy: ApprovalPolicy) -> ApproverRule:
    """A reject-only item names nobody; those who decide everything else may still reject it."""
    return rule if rule.roles or rule.principals else policy.otherwise


def later(now: str, by_seconds: float) -> str:
    """The time so many seconds after `now`, in the ledger's own spelling."""
    moment = datetime.fromtimestamp(seconds(now) + by_seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def expired(approval: Approval, now: str) -> bool:
    return not approval.overdue and seconds(now) >= seconds(approval.expires_at)
