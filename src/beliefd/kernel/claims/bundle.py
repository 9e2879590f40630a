"""The ClaimBundle contract: types, bounds and orders (claim-bundle, structure and tables)."""

from enum import IntEnum
from typing import Annotated, Any, Final, Literal

import msgspec

from beliefd.kernel.canonical import digest
from beliefd.kernel.claims.about import About
from beliefd.kernel.values import (
    Digest,
    Id,
    Note,
    Text,
    Tier,
    TierName,
    Timestamp,
    Unit,
    Value,
    refuse_impossible,
)

MAX_CLAIMS: Final = 1_000
MAX_POINTERS: Final = 100


MAX_SAMPLES: Final = 200
Samples = Annotated[tuple[Note, ...], msgspec.Meta(min_length=2, max_length=MAX_SAMPLES)]
"""Answers to one question, as a model gave them when it was asked several times."""

ClaimType = Literal["FACT", "INFERENCE", "DECISION"]
Method = Literal["semantic_entropy", "model_disagreement", "confidence_score", "conformal_set"]
Recommendation = Literal["EXECUTE", "DEFER", "REFUSE", "EXPLAIN"]
Decision = Literal["PUBLISH", "DEFER", "ESCALATE", "REFUSE"]


class Severity(IntEnum):
    """How much a gate holds back. The most severe one wins."""

    EXECUTE = 0
    EXPLAIN = 1
    DEFER = 2
    ESCALATE = 3
    REFUSE = 4


class EvidencePointer(Value, frozen=True):
    """Where a claim's evidence is, how good its source is, and what its content hashes to."""

    source: Text
    source_confidence: Unit
    evidence_hash: Digest
    retrieved_at: Timestamp

    def __post_init__(self) -> None:
        if len(self.evidence_hash) % 2:
            raise ValueError("an odd number of hex digits in field `evidence_hash`")
        refuse_impossible(self.retrieved_at, "retrieved_at")


class Uncertainty(Value, frozen=True):
    """How sure the agent says it is. Self-declared: it may tighten an outcome, never loosen it."""

    method: Method
    value: Unit
    interpretation: Note = ""
    gate_recommendation: Recommendation = "EXECUTE"


class Claim(Value, frozen=True):
    """One typed statement. Without an id it is named after its place in the bundle."""

    statement: Text
    claim_type: ClaimType
    uncertainty: Uncertainty
    risk_tier: TierName
    id: Id | None = None
    evidence_pointers: Annotated[tuple[EvidencePointer, ...], msgspec.Meta(max_length=MAX_POINTERS)] = ()
    if_wrong_cost: Note = ""
    about: About | msgspec.UnsetType = msgspec.UNSET


class HumanApproval(Value, frozen=True):
    """What one person decided about a bundle."""

    approver: Id
    timestamp: Timestamp
    decision: Literal["APPROVED", "REJECTED"]
    reason: Note = ""


class AuditTrail(Value, frozen=True):
    gates_passed: tuple[str, ...] = ()
    gates_failed: tuple[str, ...] = ()
    human_approvals: tuple[HumanApproval, ...] = ()


class ClaimBundle(Value, frozen=True):
    """What an agent says in one step. `decision` and all below it are filled in by the server alone."""

    origin_agent: Id
    claims: Annotated[tuple[Claim, ...], msgspec.Meta(min_length=1, max_length=MAX_CLAIMS)]
    id: Id | None = None
    timestamp: Timestamp | None = None
    decision: Decision = "DEFER"
    reason: Note = ""
    required_approvals: tuple[str, ...] = ()
    audit_trail: AuditTrail = AuditTrail()

    def __post_init__(self) -> None:
        if self.timestamp is not None:
            refuse_impossible(self.timestamp, "timestamp")
        refuse_shared_ids(self.claims)

    @property
    def tier(self) -> Tier:
        """The highest risk of any claim."""
        return max(Tier[claim.risk_tier] for claim in self.claims)


def claim_id(claim: Claim, place: int) -> str:
    """What a claim is called in its bundle. It must be known before the bundle has an id of its own."""
    return claim.id or f"claim-{place}"


def refuse_shared_ids(claims: tuple[Claim, ...]) -> None:
    """INVARIANT: within a bundle an id names one claim, whether the agent chose it or the place did."""
    seen: set[str] = set()
    for place, claim in enumerate(claims, 1):
        if (name := claim_id(claim, place)) in seen:
            raise ValueError(f"`{name[:64]}` names two claims, in field `claims[{place - 1}].id`")
        seen.add(name)


def filled(bundle: ClaimBundle, new_id: str, now: str) -> ClaimBundle:
    """The bundle with ids and time in place, and nothing left of what only the server may say."""
    bundle_id = bundle.id or new_id
    claims = tuple(
        claim if claim.id is not None else msgspec.structs.replace(claim, id=claim_id(claim, place))
        for place, claim in enumerate(bundle.claims, 1)
    )
    return ClaimBundle(
        origin_agent=bundle.origin_agent, claims=claims, id=bundle_id, timestamp=bundle.timestamp or now
    )


def content_hash(bundle: ClaimBundle) -> str:
    """What an approval binds: who says what, under which id; not what the server added."""
    return digest(
        {
            "claims": msgspec.to_builtins(bundle.claims),
            "id": bundle.id,
            "origin_agent": bundle.origin_agent,
            "timestamp": bundle.timestamp,
        }
    )


class SpeltTwice(ValueError):
    """A field is given in both snake_case and kebab-case; `spelt_twice` says which."""


def snake_keys(value: Any) -> Any:
    """Kebab-case keys as snake_case, at every level; a field given in both spellings is an error."""
    if isinstance(value, dict):
        renamed = {_snake(key): snake_keys(item) for key, item in value.items()}
        if len(renamed) != len(value):
            raise SpeltTwice
        return renamed
    if isinstance(value, list | tuple):
        return [snake_keys(item) for item in value]
    return value


def spelt_twice(value: Any, path: str = "$") -> str | None:
    """Where `snake_keys` stumbles. A walk of its own, so that good bundles do not pay for paths."""
    if isinstance(value, dict):
        seen: set[Any] = set()
        for key, item in value.items():
            here = f"{path}.{str(key)[:64]}"
            if _snake(key) in seen:
                return here
            seen.add(_snake(key))
            if (found := spelt_twice(item, here)) is not None:
                return found
    if isinstance(value, list | tuple):
        places = (spelt_twice(item, f"{path}[{place}]") for place, item in enumerate(value))
        return next((found for found in places if found is not None), None)
    return None


def _snake(key: Any) -> Any:
    return key.replace("-", "_") if isinstance(key, str) else key
