"""What evidence warrants. The only way to a status, and it starts from what runs have minted."""

import itertools
from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.experiments.state import Evidence
from beliefd.kernel.intents.state import EpistemicStatus, Proposition
from beliefd.kernel.policy import FirewallPolicy
from beliefd.kernel.speculation.lanes import GROUNDED
from beliefd.kernel.state import Session

RANK: Final[dict[str, int]] = {"refuted": 0, "speculative": 0, "unresolved": 1, "supported": 2, "proven": 3}


class Warrant(Struct, frozen=True):
    """What the evidence of a claim comes to, and why it is no more. `attested` if nobody saw its data."""

    status: EpistemicStatus
    why: str
    supporting: tuple[str, ...] = ()
    refuting: tuple[str, ...] = ()
    attested: bool = False


def counted(session: Session, claim_id: str, fresh: Evidence | None = None) -> list[Evidence]:
    """All the evidence of a claim as it is worded today, linked or not; nobody can leave a run out.

    `fresh` is evidence that is being minted.
    """
    proposition: Proposition | None = session.intents.propositions.get(claim_id)
    held = session.experiments
    pieces = [held.evidence[name] for name in held.by_claim.get(claim_id, ())]
    pieces += [] if fresh is None else [fresh]
    revision = None if proposition is None else proposition.revision
    # INVARIANT: a label counts, not a word: whatever came of speculation weighs nothing. Nor does what was
    # tested before there was a wording to test.
    return [piece for piece in pieces if piece.revision == revision and piece.lane == GROUNDED]


def warrant_of(pieces: Iterable[Evidence], policy: FirewallPolicy) -> Warrant:
    """The strongest status that all the evidence together warrants; nobody can pick some of it.

    INVARIANT: neither fragile evidence nor bookkeeping promotes, support and refutation together are
    unresolved, and one body of data alone proves nothing. Where anything was witnessed, what is only attested
    weighs nothing.
    """
    pieces = list(pieces)
    solid = [piece for piece in pieces if piece.solid and piece.outcome != "unresolved"]
    witnessed = [piece for piece in solid if piece.witnessed]
    attested = not witnessed
    weighed = solid if attested else witnessed
    if attested and policy.attested.supports == "never":
        weighed = []
    supporting = [piece for piece in weighed if piece.outcome == "support"]
    refuting = [piece for piece in weighed if piece.outcome == "refute"]

    def warrant(status: EpistemicStatus, why: str) -> Warrant:
        named = tuple(one.evidence_id for one in supporting), tuple(one.evidence_id for one in refuting)
        return Warrant(status, why, *named, attested=attested)

    if supporting and refuting:
        return warrant("unresolved", "evidence supports and refutes it")
    if any(piece.role == "undercut" and (attested or piece.witnessed) for piece in pieces):
        return warrant("unresolved", "evidence undercuts the ground it stands on")
    if refuting:
        return warrant("refuted", "evidence refutes it and none supports it")
    if not supporting:
        return warrant("unresolved", _too_little(pieces, bool(solid)))
    if (missing := _unproven(supporting, policy)) is not None:
        return warrant("supported", missing)
    return warrant("proven", f"runs on data that have nothing in common support it below {policy.alpha}")


def _too_little(pieces: list[Evidence], only_attested: bool) -> str:
    if not pieces:
        return "no completed run tested it as it is worded now"
    if only_attested:
        return "only attested data speak for or against it, and policy lets those count for nothing"
    return "there is only fragile evidence, bookkeeping, or what left it open"


def _unproven(supporting: list[Evidence], policy: FirewallPolicy) -> str | None:
    """INVARIANT: a proof takes two runs below alpha, worded before their data, on witnessed data of which no
    part is the same."""
    sure = [piece for piece in supporting if piece.error_level < policy.alpha]
    if not policy.attested.proves:
        if not any(piece.witnessed for piece in sure):
            return "nobody but who proposes it has witnessed its data"
        sure = [piece for piece in sure if piece.witnessed and piece.worded_first]
        if not sure:
            return "it was worded after its data, or not below alpha"
    for one, other in itertools.combinations(sure, 2):
        if not {*one.bodies} & {*other.bodies}:
            return None
    return "one body of data supports it; a proof takes two that have nothing in common"


def fallen(session: Session, claim_id: str, found: Warrant, now: str) -> tuple[Proposition, ...]:
    """The proposition with a lower status, if the evidence no longer warrants the one it has."""
    proposition: Proposition | None = session.intents.propositions.get(claim_id)
    if proposition is None or proposition.status not in ("supported", "proven", "refuted"):
        return ()
    if warrants(found, proposition.status):
        return ()
    stays = proposition.status == "proven" and found.status == "supported"
    lower: EpistemicStatus = "supported" if stays else "unresolved"
    why = f"it was {proposition.status}; the evidence warrants {found.status}: {found.why}"
    return (replace(proposition, status=lower, changed_at=now, fell=why),)


def warrants(found: Warrant, wanted: EpistemicStatus) -> bool:
    """May a proposition get this status? What is warranted may, and what claims less."""
    if wanted == "unresolved":
        return True
    if wanted == "supported":
        return found.status in ("supported", "proven")
    return wanted == found.status


def raises(now: EpistemicStatus, wanted: EpistemicStatus) -> bool:
    """Is it a step up? To take a refutation back is one too."""
    return RANK[wanted] > RANK[now]
