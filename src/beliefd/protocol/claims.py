"""Claims: bundles as agents send them, and how the gates judge them."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.claims import commands
from beliefd.kernel.claims.about import About
from beliefd.kernel.claims.bundle import (
    MAX_CLAIMS,
    MAX_POINTERS,
    AuditTrail,
    Claim,
    ClaimBundle,
    DecidedAction,
    Decision,
    EvidencePointer,
    Recommendation,
    Samples,
    Uncertainty,
    claim_id,
    refuse_idle_action,
)
from beliefd.kernel.claims.endings import Corrects
from beliefd.kernel.claims.events import Gated
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.claims.standing import Standings
from beliefd.kernel.claims.state import Claims
from beliefd.kernel.claims.tiers import NAMES, RaisedTier, recorded_tier
from beliefd.kernel.errors import Code
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import ClaimType, Id, Method, Note, Text, TierName, Timestamp, Unit, Value
from beliefd.protocol.afterwards import (
    AgreementProgress,
    Correction,
    EndedClaim,
    correction_of,
    ended_claims,
    progress_of,
)
from beliefd.protocol.observed import observed_in
from beliefd.protocol.operation import AT, PAGE, SESSION, Answer, Vocabulary, asks, reads, writes

if TYPE_CHECKING:
    from beliefd.kernel.state import Session

MAX_SAMPLED: Final = 2_000
FROM_SAMPLES: Final = ("semantic_entropy", "model_disagreement")
BUNDLE: Final[dict[str, Any]] = {
    "claims": [
        {
            "statement": "terminate the 163 sessions that sit idle inside a transaction",
            "claim_type": "DECISION",
            "uncertainty": {"method": "confidence_score", "value": 0.12},
            "risk_tier": "DELETE",
            "if_wrong_cost": "work in progress of up to 163 customers is lost",
        }
    ],
}


class SubmittedUncertainty(Value, frozen=True):
    """A value, answers in `samples` to measure it from, or the receipt of a measurement.

    A value beside those is declared: it can only tighten.
    """

    method: Method
    value: Unit | UnsetType = UNSET
    interpretation: Note = ""
    gate_recommendation: Recommendation = "EXECUTE"
    measurement_id: Id | UnsetType = UNSET
    samples: Samples | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.value is UNSET and self.samples is UNSET and self.measurement_id is UNSET:
            raise ValueError("neither `samples` nor a `measurement_id` nor a number in field `value`")
        if self.samples is UNSET:
            return
        if self.measurement_id is not UNSET:
            raise ValueError("give either `samples` or a `measurement_id` in field `samples`")
        if self.method not in FROM_SAMPLES:
            raise ValueError(f"{self.method} is not measured from answers in field `samples`")
        if not any(answer.strip() for answer in self.samples):
            raise ValueError("all answers are empty in field `samples`")

    @property
    def declared(self) -> Uncertainty:
        given = {name: getattr(self, name) for name in Uncertainty.__struct_fields__}
        return Uncertainty(**given)


class SubmittedClaim(Value, frozen=True):
    """One typed statement. Without an id it is named after its place in the bundle."""

    statement: Text
    claim_type: ClaimType
    uncertainty: SubmittedUncertainty
    risk_tier: TierName
    id: Id | None = None
    evidence_pointers: Annotated[tuple[EvidencePointer, ...], msgspec.Meta(max_length=MAX_POINTERS)] = ()
    if_wrong_cost: Note = ""
    action: DecidedAction | UnsetType = UNSET
    about: About | UnsetType = UNSET

    def __post_init__(self) -> None:
        refuse_idle_action(self.claim_type, self.action)

    @property
    def claim(self) -> Claim:
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        return Claim(**{**given, "uncertainty": self.uncertainty.declared})


class SubmittedBundle(Value, frozen=True):
    """What an agent says in one step.

    `origin_agent` is who submits it, and may be left out; another one takes a relay in the policy. `corrects`
    names a published bundle that this one puts right. `decision`, `reason`, `required_approvals` and
    `audit_trail` are filled in by the server alone.
    """

    claims: Annotated[tuple[SubmittedClaim, ...], msgspec.Meta(min_length=1, max_length=MAX_CLAIMS)]
    origin_agent: Id | UnsetType = UNSET
    id: Id | None = None
    timestamp: Timestamp | None = None
    decision: Decision = "DEFER"
    reason: Note = ""
    required_approvals: tuple[str, ...] = ()
    audit_trail: AuditTrail = AuditTrail()
    corrects: Corrects | UnsetType = UNSET

    def __post_init__(self) -> None:
        if sum(len(one.uncertainty.samples or ()) for one in self.claims) > MAX_SAMPLED:
            raise ValueError(f"more than {MAX_SAMPLED} answers in all in field `claims`")

    @property
    def bundle(self) -> ClaimBundle:
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        return ClaimBundle(**{**given, "claims": tuple(one.claim for one in self.claims)})

    @property
    def samples(self) -> dict[str, tuple[str, ...]]:
        return {
            claim_id(one.claim, place): one.uncertainty.samples
            for place, one in enumerate(self.claims, 1)
            if one.uncertainty.samples is not UNSET
        }


class JudgedBundle(Answer, frozen=True):
    """The bundle as the contract has it, and beside it how the gates came to their word.

    `proposer` is the principal that submitted it. `tier` is the highest that counts, `raised` are the claims
    whose tier is higher than their `risk_tier`, each with the reason. `standings` is what each claim rests
    on, by its id: how far its evidence is known here, and what was measured of its words. A claim that names
    no evidence and was not measured has none. `ended` are the claims that were retracted or corrected since,
    by their ids. `corrects` is what the bundle itself puts right. `progress` is there while it waits.
    `observed` are the values of observations that claims cite, in words, by source: nobody has compared them
    with the statements. `foreign` is there if its session began elsewhere: who imported it from where.
    """

    id: str
    timestamp: str
    origin_agent: str
    proposer: str
    tier: TierName
    raised: list[RaisedTier]
    claims: list[Claim]
    decision: Decision
    reason: str
    required_approvals: list[str]
    audit_trail: AuditTrail
    caveats: list[str]
    standings: Standings
    gates: list[GateResult]
    content_hash: str
    approval_id: str | None
    audit_event_id: str | None
    ended: dict[str, EndedClaim] = {}
    corrects: Correction | None = None
    progress: AgreementProgress | None = None
    observed: dict[str, str] = {}
    foreign: Foreign | None = None


class BundlePage(Answer, frozen=True):
    """Bundles of claims, oldest first."""

    claims: list[JudgedBundle]
    next: str | None


class RetractedClaims(Answer, frozen=True):
    """What was taken back: the claims that ended by this, how many of the bundle stand, and the bundle."""

    bundle_id: str
    claim_ids: list[str]
    standing: int
    by: str
    at: str
    reason: str
    bundle: JudgedBundle
    audit_event_id: str


def judged(
    gated: Gated, event_id: str | None, proposer: str, session: "Session | None" = None
) -> JudgedBundle:
    """`session` is where it was said, if anywhere: it says what became of the bundle since."""
    bundle, claims = gated.bundle, Claims() if session is None else session.claims
    waits = gated.approval is not None and gated.approval.status == "pending"
    return JudgedBundle(
        id=bundle.id or "",
        timestamp=bundle.timestamp or "",
        origin_agent=bundle.origin_agent,
        proposer=proposer,
        tier=NAMES[recorded_tier(bundle, gated.raised)],
        raised=list(gated.raised or ()),
        claims=list(bundle.claims),
        decision=bundle.decision,
        reason=bundle.reason,
        required_approvals=list(bundle.required_approvals),
        audit_trail=bundle.audit_trail,
        caveats=list(gated.caveats),
        standings=gated.standings or {},
        gates=list(gated.results),
        content_hash=gated.content_hash,
        approval_id=gated.approval.approval_id if waits and gated.approval is not None else None,
        audit_event_id=event_id,
        ended=ended_claims(claims, bundle),
        corrects=correction_of(claims, bundle),
        progress=progress_of(gated.approval),
        observed=observed_in(bundle.claims, session),
    )


class ClaimRows(Vocabulary):
    """What agents say, and the gates it must pass"""

    submit_claims = writes(
        f"{SESSION}/claims",
        SubmittedBundle,
        JudgedBundle,
        "Put a bundle of claims before the five gates",
        errors=(Code.MEASUREMENT_NOT_FOUND,),
        example=BUNDLE,
    )
    list_claims = reads(f"{SESSION}/claims", BundlePage, "The bundles of a session, by id", query=(AT, *PAGE))
    show_claims = reads(
        f"{SESSION}/claims/{{bundle_id}}",
        JudgedBundle,
        "One bundle as it was last judged",
        query=(AT,),
        slashed=True,
        errors=(Code.BUNDLE_NOT_FOUND,),
    )
    retract_claims = writes(
        f"{SESSION}/retractions",
        commands.RetractClaims,
        RetractedClaims,
        "Take back claims that were published",
        errors=(Code.BUNDLE_NOT_FOUND, Code.NOT_FOUND),
        example={
            "bundle_id": "<id of a published bundle>",
            "claim_ids": ["claim-1"],
            "reason": "the count was of the wrong database",
        },
    )
    check_claims = asks(
        "/v1/claims/check",
        SubmittedBundle,
        JudgedBundle,
        "What the gates would say, without a session and without a record",
        errors=(Code.MEASUREMENT_NOT_FOUND,),
        example=BUNDLE,
    )
