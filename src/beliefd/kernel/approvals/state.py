"""Approvals as durable records: what waits for a person, and what that person decided."""

from typing import Final, Literal

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.catalogues.state import OfferedTool
from beliefd.kernel.claims.bundle import ClaimBundle, GateOverride, HumanApproval
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.claims.standing import Standings
from beliefd.kernel.claims.tiers import Raised
from beliefd.kernel.intents.state import Change
from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.policy import ApproverRule
from beliefd.kernel.substrate.dense import VectorRef
from beliefd.kernel.substrate.proposals import CallCandidate, DeltaCandidate
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.values import Principal, TierName, Value

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
    "seen",
]
ApprovalDecision = Literal["APPROVED", "REJECTED", "MODIFIED", "DEFERRED", "SEEN"]
OPEN: Final = ("pending", "information")


class BundleSubject(Value, frozen=True, tag_field="kind", tag="bundle"):
    """A bundle of claims that a gate stopped; exactly these claims are judged again."""

    bundle_id: str
    bundle: ClaimBundle | None = None


class InformationSubject(Value, frozen=True, tag_field="kind", tag="information"):
    """A bundle that was published, and that people should know about. They can say that they saw it."""

    bundle_id: str
    bundle: ClaimBundle | None = None


class CallSubject(Value, frozen=True, tag_field="kind", tag="call"):
    """A tool call that waits because of the constraints in `asked`, each with its hash.

    `definition_hash` is the tool as it was shown, `provenance` where the call came from. Subjects without
    `run_by` are older: of them, only those of calls that their callers run say where they came from.
    """

    candidate: CallCandidate | None = None
    definition_hash: str = ""
    asked: dict[str, str] = {}
    provenance: Provenance | msgspec.UnsetType = msgspec.UNSET
    run_by: Literal["server", "caller"] | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_run_by_caller(self) -> bool:
        return bool(self.provenance) if self.run_by is msgspec.UNSET else self.run_by == "caller"


class DeltaSubject(Value, frozen=True, tag_field="kind", tag="delta"):
    """A change of the symbolic state that waits likewise. It was judged on snapshot `judged_on`.

    The candidate is kept without its vector, which `vector` names.
    """

    candidate: DeltaCandidate | None = None
    asked: dict[str, str] = {}
    judged_on: str = ""
    vector: VectorRef | msgspec.UnsetType = msgspec.UNSET


class IntentSubject(Value, frozen=True, tag_field="kind", tag="intent"):
    """The change of belief that a write intent asks for."""

    intent_id: str
    change: Change | None = None


class DefinitionSubject(Value, frozen=True, tag_field="kind", tag="definition"):
    """Another definition of a tool than the one that is pinned, which `was`; None if it is new."""

    upstream: str
    name: str
    definition: OfferedTool | None = None
    was: OfferedTool | None = None


class Shaped(Value, frozen=True):
    """Contents, by their digests, and who shaped them: people, by their owners and by their ids.

    In older entries it is one of both.
    """

    content: tuple[str, ...]
    by: tuple[str, ...]


Subject = BundleSubject | InformationSubject | CallSubject | DeltaSubject | IntentSubject | DefinitionSubject
SubjectKind = Literal["bundle", "information", "call", "delta", "intent", "definition"]
CONTENT: Final = ("bundle", "candidate", "change", "definition", "was")


class Approval(Value, frozen=True, kw_only=True):
    """One item of the inbox: what it is about, who may decide it, and what was said about it.

    `event_id` names the event that opened it, which holds its content for ever. `tier` is the highest that
    counts, `raised` are the claims whose tier is higher than declared.

    The subject keeps its content while the item is open: exactly that is judged again. `approvals` are the
    words on this item, `earlier` those on the items that led to it: the one of another gate, or the one
    that timed out before this was `escalated`. `overridden` are the gates that people have let it pass by
    those. `words` are the digests of what its claims say, kept if it is rejected.

    `gates` are those whose questions stand on it; a yes answers those and no other. `shaped` says who shaped
    what waits, if it is no bundle. `led_to` is the call that was let through.
    """

    approval_id: str
    event_id: str
    subject: Subject
    content_hash: str
    proposers: tuple[str, ...]
    proposer: Principal
    gate: str
    tier: str
    raised: Raised = UNSET
    reason: str
    results: tuple[GateResult, ...] = ()
    standings: Standings | msgspec.UnsetType = msgspec.UNSET
    rule: ApproverRule
    opened_at: str
    expires_at: str
    status: ApprovalStatus = "pending"
    approvals: tuple[HumanApproval, ...] = ()
    earlier: tuple[HumanApproval, ...] = ()
    approved_gates: tuple[str, ...] = ()
    overridden: tuple[GateOverride, ...] | msgspec.UnsetType = msgspec.UNSET
    words: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    gates: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    shaped: Shaped | msgspec.UnsetType = msgspec.UNSET
    led_to: str | msgspec.UnsetType = msgspec.UNSET
    overdue: bool = False
    escalated: bool = False
    decided_by: str | None = None
    successor: str | None = None

    def closed(
        self, status: ApprovalStatus, successor: str | None = None, by: str | None = None
    ) -> "Approval":
        """The item as it ends. What it was about stands in the ledger; the state keeps its name only."""
        gone = {name: None for name in CONTENT if hasattr(self.subject, name)}
        subject = replace(self.subject, **gone)
        return replace(
            self,
            status=status,
            subject=subject,
            successor=successor,
            decided_by=by,
            words=self.words if status == "rejected" else msgspec.UNSET,
            shaped=msgspec.UNSET,
        )

    @property
    def asking(self) -> tuple[str, ...]:
        """The gates whose questions stand on the card."""
        return self.gates or (self.gate,)

    @property
    def allowed(self) -> tuple[ApprovalDecision, ...]:
        """What may be decided. Where nobody may approve, nobody may edit: that would be a way around."""
        if self.status == "information":
            return ("SEEN",)
        if self.status != "pending":
            return ()
        if self.rule.nobody:
            return ("REJECTED",)
        if isinstance(self.subject, IntentSubject):
            change = self.subject.change
            if change is None or change.to_status is None:
                return ("APPROVED", "REJECTED", "DEFERRED")
            return ("APPROVED", "REJECTED", "MODIFIED", "DEFERRED")
        edits: tuple[ApprovalDecision, ...] = ("MODIFIED",) if isinstance(self.subject, BundleSubject) else ()
        return ("APPROVED", "REJECTED", *edits)


class Grant(Value, frozen=True):
    """Standing consent for one principal in one session, up to MODIFY and never beyond.

    `giver` is who gave it, with the role of that time.
    """

    grant_id: str
    principal: str
    tiers: tuple[TierName, ...]
    granted_by: str
    granted_at: str
    expires_at: str
    max_uses: int
    uses: int = 0
    revoked_at: str | None = None
    giver: Principal | msgspec.UnsetType = msgspec.UNSET


class Approvals(Part, frozen=True):
    """What waits or waited in a session, and the standing grants.

    `rejected_words` names, by the digest of what was said, the last item in which a person rejected it.
    `shapers` are, by the digest of a content, the people who ever proposed or edited it.
    """

    by_id: Growing[Approval] = msgspec.field(default=EMPTY, name="approvals")
    grants: Growing[Grant] = EMPTY
    rejected_words: Growing[str] = EMPTY
    shapers: Growing[tuple[str, ...]] = EMPTY

    def with_approval(self, approval: Approval | None) -> "Approvals":
        if approval is None:
            return self
        held = self.with_shaped(approval.shaped)
        return replace(held, by_id=held.by_id.insert(approval.approval_id, approval))

    def with_shaped(self, shaped: Shaped | msgspec.UnsetType) -> "Approvals":
        """INVARIANT: who shaped something is never forgotten, whatever supersedes it."""
        if shaped is UNSET:
            return self
        known, by = self.shapers, tuple(dict.fromkeys(shaped.by))
        changed: dict[str, tuple[str, ...]] = {}
        for content in shaped.content:
            before = known.get(content) or ()
            if not before and by:  # as mostly: nobody has said it before
                changed[content] = by
            elif (people := tuple(dict.fromkeys((*before, *by)))) != before:
                changed[content] = people
        return replace(self, shapers=known.update(changed)) if changed else self

    def with_rejected(self, approval: Approval) -> "Approvals":
        """What was said in an item that a person rejected is remembered."""
        if approval.status != "rejected" or approval.words is UNSET:
            return self
        rejected = self.rejected_words
        for words in approval.words:
            rejected = rejected.insert(words, approval.approval_id)
        return replace(self, rejected_words=rejected)

    def with_grant(self, grant: Grant) -> "Approvals":
        return replace(self, grants=self.grants.insert(grant.grant_id, grant))
