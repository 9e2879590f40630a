"""What evidence warrants. The only way to a status, and it starts from what runs have minted."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from beliefd.kernel.experiments.state import Evidence
from beliefd.kernel.intents.state import EpistemicStatus, Proposition
from beliefd.kernel.speculation.lanes import GROUNDED
from beliefd.kernel.state import Session

INDEPENDENT_PROOFS: Final = 2
RANK: Final[dict[str, int]] = {"refuted": 0, "speculative": 0, "unresolved": 1, "supported": 2, "proven": 3}


class Warrant(Struct, frozen=True):
    """What the evidence of a claim comes to, and why it is no more."""

    status: EpistemicStatus
    why: str
    supporting: tuple[str, ...] = ()
    refuting: tuple[str, ...] = ()


def counted(session: Session, claim_id: str) -> list[Evidence]:
    """The evidence that is linked to a claim, for its wording of today."""
    proposition: Proposition | None = session.intents.propositions.get(claim_id)
    revision = 1 if proposition is None else proposition.revision
    pieces = [session.experiments.evidence[name] for name in session.experiments.linked.get(claim_id, ())]
    # INVARIANT: a label counts, not a word: whatever came of speculation weighs nothing.
    return [piece for piece in pieces if piece.revision == revision and piece.lane == GROUNDED]


def warrant_of(pieces: Iterable[Evidence], alpha: float) -> Warrant:
    """The strongest status that all the evidence together warrants; nobody can pick some of it.

    INVARIANT: neither fragile evidence nor bookkeeping promotes, support and refutation together are
    unresolved, and one run alone proves nothing.
    """
    pieces = list(pieces)
    solid = [piece for piece in pieces if piece.solid]
    supporting = [piece for piece in solid if piece.role in ("support", "replicate")]
    refuting = [piece for piece in solid if piece.role == "refute"]
    named = tuple(piece.evidence_id for piece in supporting), tuple(piece.evidence_id for piece in refuting)
    if supporting and refuting:
        return Warrant("unresolved", "evidence supports and refutes it", *named)
    if any(piece.role == "undercut" for piece in pieces):
        return Warrant("unresolved", "evidence undercuts the ground it stands on", *named)
    if refuting:
        return Warrant("refuted", "evidence refutes it and none supports it", *named)
    if not supporting:
        weak = "only fragile evidence or bookkeeping is linked to it"
        return Warrant("unresolved", weak if pieces else "no evidence is linked to it")
    sure = {(piece.template, piece.seed) for piece in supporting if piece.error_level < alpha}
    if len(sure) >= INDEPENDENT_PROOFS:
        return Warrant("proven", f"{len(sure)} independent runs support it below {alpha}", *named)
    return Warrant("supported", "one independent run supports it; a proof takes two", *named)


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
