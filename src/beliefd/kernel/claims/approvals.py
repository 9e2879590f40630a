"""Approvals: durable records of what waits for a person, and of what that person decided (DESIGN 10)."""

from datetime import UTC, datetime
from typing import Final, Literal

from msgspec import Struct

from beliefd.kernel.claims.bundle import ClaimBundle, HumanApproval, seconds
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.firewall.artifacts import Change
from beliefd.kernel.policy import ApprovalPolicy, ApproverRule
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate, DeltaCandidate
from beliefd.kernel.values import PEOPLE, Principal

ApprovalStatus = Literal[
    "pending",
    "approved",
    "rejected",
    "modified",
    "deferred",
    "timed_out",
    "withdrawn",
    "superseded",
    "information",
]
Verdict = Literal["APPROVED", "REJECTED", "MODIFIED", "DEFERRED"]
OPEN: Final = ("pending", "information")


class Approval(Struct, frozen=True, kw_only=True):
    """One item of the inbox. `bundle` is kept while it is open, so that exactly that is judged again.

    `approvals` are the words on this item, `earlier` those on the items that led to it: another gate's, or
    the one that timed out before this was `escalated`.

    A `call` or a `delta` waits because of the constraints in `asked`, each with its hash. It was judged on
    snapshot `judged_on`; of the tool to be called, `definition_hash` is what was shown. A `change` is that of
    the write intent `intent_id`.
    """

    approval_id: str
    bundle_id: str
    bundle: ClaimBundle | None
    call: CallCandidate | None = None
    delta: DeltaCandidate | None = None
    change: Change | None = None
    intent_id: str = ""
    definition_hash: str = ""
    asked: dict[str, str] = {}
    judged_on: str = ""
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
    earlier: tuple[HumanApproval, ...] = ()
    approved_gates: tuple[str, ...] = ()
    overdue: bool = False
    escalated: bool = False
    decided_by: str | None = None
    successor: str | None = None

    @property
    def candidate(self) -> Candidate | None:
        """The candidate of a proposal that waits, if that is what waits."""
        return self.call or self.delta

    @property
    def claims(self) -> bool:
        """Is it a bundle of claims that waits?"""
        return self.bundle is not None

    @property
    def allowed(self) -> tuple[Verdict, ...]:
        """What may be decided. Where nobody may approve, nobody may edit: that would be a way around."""
        if self.status != "pending":
            return ()
        if self.rule.nobody:
            return ("REJECTED",)
        if self.change is not None:
            lower: tuple[Verdict, ...] = ("MODIFIED",) if self.change.to_status is not None else ()
            return ("APPROVED", "REJECTED", *lower, "DEFERRED")
        return ("APPROVED", "REJECTED", "MODIFIED") if self.claims else ("APPROVED", "REJECTED")


def required_approvals(rule: ApproverRule) -> tuple[str, ...]:
    """Who can decide, as the bundle's `required_approvals` tells it."""
    return (*rule.principals, *(f"role://{role}" for role in rule.roles))


def may_decide(rule: ApproverRule, principal: Principal) -> bool:
    # INVARIANT: whoever a rule names, a program approves nothing.
    named = principal.role in rule.roles or principal.id in rule.principals
    return named and principal.role in PEOPLE


def rules_for(approval: Approval, decision: Verdict, policy: ApprovalPolicy) -> tuple[ApproverRule, ...]:
    """Every rule that who decides must meet.

    To let something pass, that is the rule it was put into the inbox with and today's: a policy that has
    become stricter holds for what waits already, one that has become looser does not. To reject something
    that nobody may approve, those will do who decide everything else.
    """
    if decision == "REJECTED":
        return (policy.otherwise if approval.rule.nobody else approval.rule,)
    return (approval.rule, policy.escalate_to if approval.escalated else policy.rule_for(approval.tier))


def later(now: str, by_seconds: float) -> str:
    """The time so many seconds after `now`, in the ledger's own spelling."""
    moment = datetime.fromtimestamp(seconds(now) + by_seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def expired(approval: Approval, now: str) -> bool:
    return not approval.overdue and seconds(now) >= seconds(approval.expires_at)
