"""Approvals and grants: what waits for a person, what a person decides, and consent given in advance."""

import json
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal, Protocol, TypeVar
from urllib.parse import quote

from msgspec import Meta

from beliefd.kernel.approvals import commands
from beliefd.kernel.approvals.state import (
    ApprovalStatus,
    BundleSubject,
    CallSubject,
    DefinitionSubject,
    DeltaSubject,
    Grant,
    InformationSubject,
    IntentSubject,
    Subject,
    SubjectKind,
)
from beliefd.kernel.claims.bundle import Claim, ClaimBundle, Decision, GateOverride, HumanApproval
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.claims.standing import Standings
from beliefd.kernel.claims.tiers import Raised, RaisedTier, riskiest
from beliefd.kernel.errors import Code
from beliefd.kernel.experiments.plan import RunOutcome
from beliefd.kernel.experiments.prediction import Prediction
from beliefd.kernel.intents.state import Change, EpistemicStatus
from beliefd.kernel.labels import Label
from beliefd.kernel.substrate.proposals import CallCandidate, DeltaCandidate
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import Id, Tier, TierName
from beliefd.protocol.afterwards import AgreementProgress, Correction, EndedClaim
from beliefd.protocol.asked import AskedCall, DecidedBefore, Sign
from beliefd.protocol.beliefs import ArchivedSession, BrokenLedger
from beliefd.protocol.claims import JudgedBundle
from beliefd.protocol.experiments import DataPicture
from beliefd.protocol.intents import IntentView
from beliefd.protocol.measurements import MeasurementView
from beliefd.protocol.operation import (
    AT,
    LIMIT,
    OF_SPACE,
    SESSION,
    Answer,
    Parameter,
    Vocabulary,
    reads,
    writes,
)
from beliefd.protocol.rights import Right
from beliefd.protocol.substrate import CandidateAnswer

APPROVAL: Final = "/v1/approvals/{approval_id}"
LONGEST_WAIT: Final = 60
AfterApproval = Annotated[str, Meta(pattern=r"^apr-[!-~]{1,500}$(?!\n)")]
"""An item of the inbox, which need not be there any more."""
InboxNews = Literal["approval.pending", "approval.decided", "approval.expired"]
CHANGES: Final[dict[str, InboxNews]] = {"pending": "approval.pending", "timed_out": "approval.expired"}
"""By status; whatever else an item is by now, it is decided."""
WAIT: Final = Parameter(
    name="wait",
    kind=Annotated[int, Meta(ge=0, le=LONGEST_WAIT)],
    default=0,
    summary="So many seconds to wait for it to be decided",
)
NARROWED: Final = (
    Parameter(name="tier", kind=TierName, summary="Only what has this tier"),
    Parameter(name="agent", kind=Id, summary="Only what this principal proposed"),
    Parameter(name="session_id", kind=Id, summary="Only what waits in this session"),
    Parameter(name="kind", kind=SubjectKind, summary="Only what is about this"),
)
"""By what a list of items can be narrowed down: a page of it may then be shorter than its limit."""


class TestRun(Answer, frozen=True):
    """One completed run for or against a proposition. `counts` is false if it tested another wording.

    `where` says where its data came from, one line per observation.
    """

    __test__ = False  # its name begins like that of a test, and it is none

    run_id: str
    evidence_id: str
    template: str
    outcome: RunOutcome
    error_level: float
    alpha: float
    failed_checks: list[str]
    bookkeeping: bool
    counts: bool
    label: Label
    where: list[str]
    worded_first: bool
    designed_by: str
    attempt: int
    tries: int
    left_out: int
    choices: int
    picture: DataPicture | None


class StatusCard(Answer, frozen=True):
    """What a person weighs before a status changes: what is claimed, and every run for and against it.

    `runs` are the latest ones, `runs_in_all` counts all. `doubts` say in words what speaks against relying on
    them.
    """

    claim_id: str
    statement: str
    revision: int
    status: EpistemicStatus
    to_status: EpistemicStatus
    prediction: Prediction | None
    warrants: EpistemicStatus
    why: str
    attempts: int
    runs: list[TestRun]
    runs_in_all: int
    doubts: list[str]


class ApprovalCard(Answer, frozen=True):
    """All that a person needs to decide: what it is about, why it stopped, what it costs, what changes.

    The `subject` keeps its content when the item is decided. A bundle has the `title` and the `tier` of its
    riskiest claim; `raised` are the claims whose tier is higher than their `risk_tier`, `standings` is what
    claims rest on. `proposer` is the principal that proposed it, `proposers` are also those who edited it.
    `asking` are the gates whose questions a yes answers, and `required` how many people must agree by today's
    policy. `cannot_run` says why a yes would be in vain now, `came_to` what became of what was approved.
    `allowed_decisions` are without a yes for a person who proposed or edited it, under whatever name.
    `progress` says who has agreed while it waits, and still may; `overridden` which gates people let it pass.
    `ended` are claims of a published bundle that do not stand any more, `corrects` is what it puts right.
    `measurements` with their raw answers, and `proposition`, if a status would change, are there if the item
    was asked for by itself. In a list, what is very long comes `shortened`, without its content. `foreign` is
    there if the session began elsewhere: words that were said there do not count, and who imported it cannot
    decide. `call` says how a call or a change of state was judged, `before` which of the last settled items
    of the session were about the same (null if there are too many to look), `follows` which item led to this
    one; these are there if it was asked for by itself. `session_title` is what the session is called, `signs`
    what was found out about a call that speaks for care, the gravest first, and `decided_at` when a settled
    item was settled, where its ledger says so in its words. `observed` are the values of observations that
    claims cite, in words, by source.
    """

    approval_id: str
    session_id: str
    title: str
    subject: Subject
    status: str
    gate: str
    asking: list[str]
    tier: str
    raised: list[RaisedTier]
    reason: str
    content_hash: str
    gates: list[GateResult]
    standings: Standings
    measurements: list[MeasurementView]
    proposer: str
    proposers: list[str]
    required_approvals: list[str]
    required: int
    allowed_decisions: list[str]
    approvals: list[HumanApproval]
    decided_by: str | None
    on_approval: str
    opened_at: str
    expires_at: str
    overdue: bool
    successor: str | None
    cannot_run: str | None
    came_to: str | None
    audit_head_event_id: str
    progress: AgreementProgress | None = None
    overridden: list[GateOverride] = []
    ended: dict[str, EndedClaim] = {}
    corrects: Correction | None = None
    proposition: StatusCard | None = None
    shortened: bool = False
    foreign: Foreign | None = None
    call: AskedCall | None = None
    before: list[DecidedBefore] | None = None
    follows: str | None = None
    session_title: str = ""
    signs: list[Sign] = []
    decided_at: str | None = None
    observed: dict[str, str] = {}

    @property
    def claims(self) -> list[Claim]:
        """The claims, if it is about a bundle of them."""
        bundle = getattr(self.subject, "bundle", None)
        return [] if bundle is None else list(bundle.claims)


class _Waits(Protocol):
    @property
    def tier(self) -> str: ...
    @property
    def opened_at(self) -> str: ...
    @property
    def signs(self) -> list[Sign]: ...


Waits = TypeVar("Waits", bound=_Waits)


def riskiest_first(items: Iterable[Waits]) -> list[Waits]:
    """What people decide first: by tier, then by what was found out about it, then the oldest."""
    return sorted(sorted(items, key=lambda one: one.opened_at), key=_care, reverse=True)


def _care(item: _Waits) -> tuple[int, int, int]:
    return Tier[item.tier], sum(one.grave for one in item.signs), len(item.signs)


def decided_on(delta: dict[str, Any]) -> str:
    """What a decision was about, as far as its own record says: the call that runs now, or the claims."""
    call = (delta.get("result") or {}).get("call")
    if call:
        return f"{call['tool_id']} {json.dumps(call['args'], ensure_ascii=False)}"
    claims = ((delta.get("gated") or {}).get("bundle") or {}).get("claims") or ()
    more = f" and {len(claims) - 1} more" if len(claims) > 1 else ""
    return f"{claims[0]['statement']}{more}" if claims else ""


def inbox_page(address: str | None, approval_id: str | None) -> str:
    """Where a person decides about it, in the console of the server at `address`; empty if there is none."""
    return f"{address.rstrip('/')}/inbox/{quote(approval_id, safe='')}" if address and approval_id else ""


def change_of(status: str) -> InboxNews:
    """What is told of an item that has come to this status."""
    return CHANGES.get(status, "approval.decided")


def title_of(subject: Subject, raised: Raised) -> str:
    """What an item is listed by: the riskiest claim of a bundle, a tool, keys of the state, a proposition."""
    match subject:
        case (
            BundleSubject(bundle=ClaimBundle() as bundle) | InformationSubject(bundle=ClaimBundle() as bundle)
        ):
            return riskiest(bundle, raised).statement
        case CallSubject(candidate=CallCandidate() as call):
            return call.tool_id
        case DeltaSubject(candidate=DeltaCandidate() as delta):
            return ", ".join(sorted({*delta.patch.set, *delta.patch.remove}))
        case IntentSubject(change=Change() as change):
            return f"{change.type} {change.claim_id}"
        case DefinitionSubject():
            return f"{subject.upstream}: {subject.name}"
    return ""


class Inbox(Answer, frozen=True):
    """`broken` are the sessions of this page whose ledgers do not verify: what waits there is not shown.
    Nor is what was settled in those that are `archived`."""

    approvals: list[ApprovalCard]
    next: str | None
    broken: list[BrokenLedger] = []
    archived: list[ArchivedSession] = []


class DecidedApproval(Answer, frozen=True):
    """What it led to: `bundle` is the resumed chain, `call` what was confirmed, arbitrated anew; if it
    was let through, a call has been run and a change of state made.

    `intent` is the write intent that was decided. All are null while more people must agree.
    """

    approval_id: str
    status: str
    decision: str
    outcome: Decision | None
    bundle: JudgedBundle | None
    call: CandidateAnswer | None
    intent: IntentView | None
    approval: ApprovalCard
    audit_event_id: str


class Grants(Answer, frozen=True):
    """Standing grants of a session."""

    grants: list[Grant]


class GrantAnswer(Answer, frozen=True):
    """A standing grant as it is now."""

    grant: Grant
    audit_event_id: str


class ApprovalRows(Vocabulary):
    """What waits for a person, what was decided, and consent given in advance"""

    list_approvals = reads(
        "/v1/approvals",
        Inbox,
        "The inbox: what waits for a person, over all sessions",
        query=(
            Parameter(name="cursor", kind=AfterApproval, summary="`next` of the page before"),
            LIMIT,
            Parameter(name="status", kind=ApprovalStatus, default="pending", summary="Only what is this"),
            *NARROWED,
            OF_SPACE,
        ),
    )
    show_approval = reads(
        APPROVAL,
        ApprovalCard,
        "One item of the inbox; with `wait`, once it is decided or that time is over",
        query=(AT, WAIT),
        errors=(Code.APPROVAL_NOT_FOUND,),
    )
    follow_inbox = reads(
        "/v1/events",
        bytes,
        "Live feed of what changes from now on, over all sessions: in the inbox, or anywhere",
        media="text/event-stream",
        stream=(
            "Server-sent events: `event` is `approval.pending`, `approval.decided` or `approval.expired`, "
            "`data` has `approval_id`, `session_id`, `status` and, of an approved call, `call_id`. With "
            "`changes=all`, `event` is also `session.changed`, and its `data` has `session_id` and the `seq` "
            "and `event_id` of its last event: many events of one session may be one change"
        ),
        query=(
            OF_SPACE,
            Parameter(
                name="changes",
                kind=Literal["approvals", "all"],
                default="approvals",
                summary="What is told: of the inbox alone, or of every session that grows",
            ),
        ),
    )
    decide_approval = writes(
        f"{APPROVAL}/decision",
        commands.DecideApproval,
        DecidedApproval,
        "Approve, reject or edit exactly what was looked at",
        errors=(Code.APPROVAL_NOT_FOUND,),
        right=Right.APPROVE,
        example={
            "decision": "APPROVED",
            "content_hash": "<content_hash of the item in the inbox>",
            "reason": "customers were told",
        },
    )
    withdraw_approval = writes(
        f"{APPROVAL}/withdraw",
        commands.WithdrawApproval,
        ApprovalCard,
        "Take back what one proposed",
        errors=(Code.APPROVAL_NOT_FOUND,),
        example={"reason": "the pool has recovered by itself"},
    )
    give_grant = writes(
        f"{SESSION}/grants",
        commands.GiveGrant,
        GrantAnswer,
        "Consent in advance, up to MODIFY",
        right=Right.APPROVE,
        status=201,
        example={
            "principal": "agent://triage",
            "tiers": ["MODIFY"],
            "expires_in_seconds": 3600,
            "max_uses": 10,
        },
    )
    list_grants = reads(f"{SESSION}/grants", Grants, "Standing grants")
    revoke_grant = writes(
        f"{SESSION}/grants/{{grant_id}}",
        None,
        GrantAnswer,
        "End a standing grant at once",
        right=Right.APPROVE,
        method="DELETE",
        errors=(Code.NOT_FOUND,),
    )
