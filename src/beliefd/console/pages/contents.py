"""What an item is about, field by field: nothing of it is left to a list that somebody would have to keep."""

from collections.abc import Iterator
from difflib import unified_diff
from itertools import zip_longest
from typing import Any, Final

from msgspec import UNSET, Struct, to_builtins

from beliefd.console.rendering import written_out
from beliefd.kernel.approvals.state import CONTENT, OPEN, DefinitionSubject
from beliefd.kernel.catalogues.state import OfferedTool
from beliefd.kernel.claims.bundle import SHA256_DIGITS, Claim, EvidencePointer
from beliefd.kernel.claims.standing import ClaimStanding
from beliefd.kernel.claims.tiers import RaisedTier, tiers_of
from beliefd.kernel.origin.facts import ValueFact
from beliefd.kernel.substrate.proposals import CallCandidate, DeltaCandidate
from beliefd.kernel.values import Tier
from beliefd.protocol.approvals import ApprovalCard

BUNDLE: Final = "bundle"
COMPARED: Final = 400
"""Lines. What is longer is shown before and after, and not line by line."""


class Field(Struct, frozen=True):
    """One member of what is decided, as text or as data."""

    name: str
    value: Any

    @property
    def is_text(self) -> bool:
        return isinstance(self.value, str)


class Compared(Struct, frozen=True):
    """A member of a tool's definition: as it was, as it is, and the lines that differ."""

    name: str
    was: Field | None
    now: Field | None
    changed: bool
    lines: list[str]


class Piece(Struct, frozen=True):
    """A pointer to evidence, and how far that is known here; `content` names its bytes if any can be."""

    pointer: EvidencePointer
    state: str
    by: str
    content: str


class ShownClaim(Struct, frozen=True):
    """A claim with the tier that counts, and why that is not the one that its agent declares."""

    claim: Claim
    tier: str
    raised: RaisedTier | None
    fields: list[Field]
    evidence: list[Piece]


class Argument(Struct, frozen=True):
    """An argument of a call, where the values in it came from, and its words that stand in what was read."""

    name: str
    field: Field
    origin: list[ValueFact]
    words: list[ValueFact]


class Change(Struct, frozen=True):
    """A name of the symbolic state: what is there now, if that is `known`, and what will be, if anything."""

    name: str
    known: bool
    now: Field | None
    then: Field | None


class Called(Struct, frozen=True):
    """A call as it is shown; `others` are traced values that are in no argument of their own."""

    rationale: str
    arguments: list[Argument]
    others: list[ValueFact]


HEADED: Final = ("statement", "claim_type", "risk_tier", "id", "if_wrong_cost")
"""Members of a claim that have a place of their own on the page."""


def fields_of(value: object) -> list[Field]:
    """Every member that says something."""
    if not isinstance(value, Struct):
        return []
    members = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return [Field(name.replace("_", " "), one) for name, one in members if _says(one)]


def _says(value: object) -> bool:
    return value is not UNSET and value is not None and value not in ("", (), [], {})


def contents(card: ApprovalCard) -> list[Field]:
    """All of what waits but claims and definitions, which are shown in their own way."""
    return list(_members(card.subject))


def _members(subject: Struct) -> Iterator[Field]:
    for name in subject.__struct_fields__:
        value = getattr(subject, name)
        if name not in CONTENT:
            yield from [Field(name.replace("_", " "), value)] if _says(value) else []
        elif name != BUNDLE and not isinstance(value, OfferedTool):
            yield from fields_of(value)


def claims_of(card: ApprovalCard) -> list[ShownClaim]:
    """The riskiest first, and within a tier as their agent put them."""
    bundle = getattr(card.subject, BUNDLE, None)
    if bundle is None:
        return []
    tiers = tiers_of(bundle, tuple(card.raised))
    raised = {one.claim_id: one for one in card.raised}
    shown = zip(bundle.claims, tiers.by_claim.items(), strict=True)
    found = [
        ShownClaim(
            claim, tier.name, raised.get(name), _rest(claim), _evidence(claim, card.standings.get(name))
        )
        for claim, (name, tier) in shown
    ]
    return sorted(found, key=lambda one: -Tier[one.tier])


def _evidence(claim: Claim, standing: ClaimStanding | None) -> list[Piece]:
    known = () if standing is None else standing.evidence
    found = zip_longest(claim.evidence_pointers, known[: len(claim.evidence_pointers)])
    return [
        Piece(
            pointer=pointer,
            state="not looked at" if one is None else one.state,
            by="" if one is None else one.by,
            content=pointer.evidence_hash if len(pointer.evidence_hash) == SHA256_DIGITS else "",
        )
        for pointer, one in found
    ]


def called(card: ApprovalCard) -> Called | None:
    """The call that waits, argument by argument, each with where its values stood."""
    candidate = getattr(card.subject, "candidate", None)
    if not isinstance(candidate, CallCandidate):
        return None
    traced = [] if card.call is None else card.call.origin
    words = [] if card.call is None else card.call.words
    arguments = [
        Argument(name, Field(name, value), _about(name, traced), _about(name, words))
        for name, value in candidate.args.items()
    ]
    others = [one for one in traced if one.argument not in candidate.args]
    return Called("" if candidate.rationale is UNSET else candidate.rationale, arguments, others)


def _about(name: str, found: list[ValueFact]) -> list[ValueFact]:
    return [one for one in found if one.argument == name]


def changes_of(card: ApprovalCard) -> list[Change]:
    """What a change of state would set or remove, each beside what is there now, if that is known."""
    candidate = getattr(card.subject, "candidate", None)
    if not isinstance(candidate, DeltaCandidate):
        return []
    known = card.status in OPEN and card.call is not None
    held = card.call.values_now if known and card.call is not None else {}
    names = (*candidate.patch.set, *candidate.patch.remove)
    return [Change(name, known, _field(name, held), _field(name, candidate.patch.set)) for name in names]


def _field(name: str, values: dict[str, Any]) -> Field | None:
    return Field(name, values[name]) if name in values else None


def edit_of(card: ApprovalCard, was: ApprovalCard | None) -> list[str]:
    """The lines of claims, or of the arguments of a call, that an edit changed."""
    if was is None:
        return []
    before, after = _edited_lines(was), _edited_lines(card)
    if max(len(before), len(after)) > COMPARED:
        return []
    return list(unified_diff(before, after, lineterm="", n=2))[2:]


def _edited_lines(card: ApprovalCard) -> list[str]:
    candidate = getattr(card.subject, "candidate", None)
    if isinstance(candidate, CallCandidate):
        return written_out(to_builtins(candidate.args)).split("\n")
    return [line for one in card.claims for line in one.statement.split("\n")]


def _rest(claim: Claim) -> list[Field]:
    told = [name.replace("_", " ") for name in HEADED]
    return [one for one in fields_of(claim) if one.name not in told]


def compared(card: ApprovalCard) -> list[Compared]:
    """A tool's definition against the one that is pinned; what changed comes first."""
    subject = card.subject
    if not isinstance(subject, DefinitionSubject) or subject.definition is None:
        return []
    was = {one.name: one for one in fields_of(subject.was)}
    now = {one.name: one for one in fields_of(subject.definition)}
    rows = [_compared(name, was.get(name), now.get(name)) for name in dict.fromkeys([*now, *was])]
    return sorted(rows, key=lambda row: not row.changed)


def _compared(name: str, was: Field | None, now: Field | None) -> Compared:
    changed = was != now
    lines = _lines(was), _lines(now)
    short = max(map(len, lines)) <= COMPARED
    differ = list(unified_diff(*lines, lineterm="", n=2))[2:] if changed and was and now and short else []
    return Compared(name, was, now, changed, differ)


def _lines(field: Field | None) -> list[str]:
    if field is None:
        return []
    return field.value.split("\n") if field.is_text else written_out(to_builtins(field.value)).split("\n")
