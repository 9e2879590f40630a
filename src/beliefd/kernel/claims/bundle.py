"""The ClaimBundle contract: types, bounds and orders (claim-bundle, structure and tables)."""

from enum import IntEnum
from operator import attrgetter
from typing import Annotated, Any, Final, Literal

import msgspec

from beliefd.kernel.canonical_structs import differ_in_texts, digest_around
from beliefd.kernel.claims.about import About
from beliefd.kernel.claims.endings import Corrects
from beliefd.kernel.values import (
    ClaimType,
    Digest,
    Id,
    Method,
    Note,
    Principal,
    Role,
    Text,
    TierName,
    Timestamp,
    Unit,
    Upstream,
    Value,
    refuse_impossible,
)

MAX_CLAIMS: Final = 1_000
MAX_POINTERS: Final = 100
MAX_POINTERS_IN_ALL: Final = 1_000


SHA256_DIGITS: Final = 64
CALL: Final = "call://"
"""What a source begins with that names a call of the session."""
MAX_SAMPLES: Final = 200
Samples = Annotated[tuple[Note, ...], msgspec.Meta(min_length=2, max_length=MAX_SAMPLES)]
"""Answers to one question, as a model gave them when it was asked several times."""

Recommendation = Literal["EXECUTE", "DEFER", "REFUSE", "EXPLAIN"]
Decision = Literal["PUBLISH", "DEFER", "ESCALATE", "REFUSE"]


class Severity(IntEnum):
    """How much a gate holds back. The most severe one wins."""

    EXECUTE = 0
    EXPLAIN = 1
    DEFER = 2
    ESCALATE = 3
    REFUSE = 4

    __hash__ = int.__hash__  # as of `Tier`


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
    """How sure the agent says it is, and the receipt of a measurement, if there is one.

    `value` is declared: it may tighten an outcome, never loosen it, and what was measured never stands here.
    """

    method: Method
    value: Unit | msgspec.UnsetType = msgspec.UNSET
    interpretation: Note = ""
    gate_recommendation: Recommendation = "EXECUTE"
    measurement_id: Id | msgspec.UnsetType = msgspec.UNSET

    @property
    def declared(self) -> float:
        """Nothing declared is nothing to tighten with."""
        return 0.0 if self.value is msgspec.UNSET else self.value


class DecidedAction(Value, frozen=True):
    """What a DECISION decides: to call a tool, or to change the status of a proposition. One of the two.

    `upstream` is the catalogue that the tool is pinned in, as in a proposal of that call.
    """

    tool: Id | msgspec.UnsetType = msgspec.UNSET
    proposition: Id | msgspec.UnsetType = msgspec.UNSET
    upstream: Upstream | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if (self.tool is msgspec.UNSET) == (self.proposition is msgspec.UNSET):
            raise ValueError("an action is either a `tool` or a `proposition`")
        if self.proposition is not msgspec.UNSET and self.upstream is not msgspec.UNSET:
            raise ValueError("`upstream` is where a `tool` is pinned, and a `proposition` is not")

    @property
    def key(self) -> str:
        """What its tool is found under. No id has a line break: a tool here and one upstream stay two."""
        return f"{self.upstream}\n{self.tool}" if self.upstream else self.tool or ""

    @property
    def unknown(self) -> str:
        """What is said of a tool that nobody knows."""
        where = f"pinned in catalogue `{self.upstream}`" if self.upstream else "registered"
        return f"no tool `{self.tool}` is {where}"


class Claim(Value, frozen=True):
    """One typed statement. Without an id it is named after its place in the bundle.

    `risk_tier` is what the agent declares; the tier that counts may be higher.
    """

    statement: Text
    claim_type: ClaimType
    uncertainty: Uncertainty
    risk_tier: TierName
    id: Id | None = None
    evidence_pointers: Annotated[tuple[EvidencePointer, ...], msgspec.Meta(max_length=MAX_POINTERS)] = ()
    if_wrong_cost: Note = ""
    action: DecidedAction | msgspec.UnsetType = msgspec.UNSET
    about: About | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if self.action is not msgspec.UNSET:
            refuse_idle_action(self.claim_type, self.action)


def named(claim_type: ClaimType) -> str:
    """A type of claim with its article."""
    return f"an {claim_type}" if claim_type == "INFERENCE" else f"a {claim_type}"


def refuse_idle_action(claim_type: ClaimType, action: DecidedAction | msgspec.UnsetType) -> None:
    if action is not msgspec.UNSET and claim_type != "DECISION":
        raise ValueError(f"{named(claim_type)} decides nothing; only a DECISION has one, in field `action`")


class HumanApproval(Value, frozen=True):
    """What one person decided about a bundle.

    `gates` are those whose questions were shown and answered. `owner` and `role` are whose credential it was
    and what it made of them then.
    """

    approver: Id
    timestamp: Timestamp
    decision: Literal["APPROVED", "REJECTED"]
    reason: Note = ""
    gates: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    owner: Id | msgspec.UnsetType = msgspec.UNSET
    role: Role | msgspec.UnsetType = msgspec.UNSET

    @property
    def speaker(self) -> Principal | None:
        """Who said it, as of then; None if that was not written down yet."""
        return Principal(id=self.approver, role=self.role, owner=self.owner) if self.role else None


class GateOverride(Value, frozen=True):
    """A gate that asked for a person because it would not let a bundle pass, and the people who did."""

    gate: str
    by: tuple[str, ...] = ()


class AuditTrail(Value, frozen=True):
    """What gates and people said. An overridden gate is in neither of the first two lists."""

    gates_passed: tuple[str, ...] = ()
    gates_failed: tuple[str, ...] = ()
    human_approvals: tuple[HumanApproval, ...] = ()
    gates_overridden: tuple[GateOverride, ...] | msgspec.UnsetType = msgspec.UNSET


class ClaimBundle(Value, frozen=True):
    """What an agent says in one step. `corrects` names what was published before and this puts right.

    `decision`, `reason`, `required_approvals` and `audit_trail` are filled in by the server alone.
    """

    origin_agent: Id
    claims: Annotated[tuple[Claim, ...], msgspec.Meta(min_length=1, max_length=MAX_CLAIMS)]
    id: Id | None = None
    timestamp: Timestamp | None = None
    decision: Decision = "DEFER"
    reason: Note = ""
    required_approvals: tuple[str, ...] = ()
    audit_trail: AuditTrail = AuditTrail()
    corrects: Corrects | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if self.timestamp is not None:
            refuse_impossible(self.timestamp, "timestamp")
        refuse_many_pointers(self.claims)
        refuse_shared_ids(self.claims)


_id_of: Final = attrgetter("id")


def claim_id(claim: Claim, place: int) -> str:
    """What a claim is called in its bundle. It must be known before the bundle has an id of its own."""
    return claim.id or f"claim-{place}"


def refuse_many_pointers(claims: tuple[Claim, ...]) -> None:
    # A few claims cannot have so many, and most bundles have a few.
    many = len(claims) * MAX_POINTERS > MAX_POINTERS_IN_ALL
    if many and sum(len(claim.evidence_pointers) for claim in claims) > MAX_POINTERS_IN_ALL:
        raise ValueError(f"more than {MAX_POINTERS_IN_ALL} pointers in all in field `claims`")


def refuse_shared_ids(claims: tuple[Claim, ...]) -> None:
    """INVARIANT: within a bundle an id names one claim, whether the agent chose it or the place did."""
    chosen = set(map(_id_of, claims))
    if len(chosen) == len(claims) and None not in chosen:
        return
    if not any(chosen):
        return  # no two have the same place
    seen: set[str] = set()
    for place, claim in enumerate(claims, 1):
        if (name := claim_id(claim, place)) in seen:
            raise ValueError(f"`{name[:64]}` names two claims, in field `claims[{place - 1}].id`")
        seen.add(name)


def filled(bundle: ClaimBundle, new_id: str, now: str) -> ClaimBundle:
    """The bundle with ids and time in place, and nothing left of what only the server may say."""
    bundle_id = bundle.id or new_id
    claims = tuple(
        [
            claim if claim.id is not None else _called(claim, f"claim-{place}")
            for place, claim in enumerate(bundle.claims, 1)
        ]
    )
    differ_in_texts(bundle.claims, claims)
    return ClaimBundle(
        origin_agent=bundle.origin_agent,
        claims=claims,
        id=bundle_id,
        timestamp=bundle.timestamp or now,
        corrects=bundle.corrects,
    )


def _called(claim: Claim, name: str) -> Claim:
    """The claim under this name. Nothing is checked again that has been: no name makes it wrong."""
    called: Claim = claim.__copy__()  # type: ignore[attr-defined]
    msgspec.structs.force_setattr(called, "id", name)
    return called


def edited_bundle(bundle: ClaimBundle, claims: tuple[Claim, ...]) -> ClaimBundle:
    """A new bundle with other claims by the same agent; the edit of a correction corrects the same."""
    return ClaimBundle(origin_agent=bundle.origin_agent, claims=claims, corrects=bundle.corrects)


class Content(msgspec.Struct, frozen=True):
    """What an approval binds: who says what, under which id; not what the server added."""

    claims: tuple[Claim, ...]
    id: str | None
    origin_agent: str
    timestamp: str | None
    corrects: Corrects | msgspec.UnsetType = msgspec.UNSET


def content_hash(bundle: ClaimBundle) -> str:
    content = Content(bundle.claims, bundle.id, bundle.origin_agent, bundle.timestamp, bundle.corrects)
    return digest_around(content, bundle.claims)


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
