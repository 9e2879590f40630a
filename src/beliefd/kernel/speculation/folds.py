"""How the events of the speculative lane change the state of a session."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.speculation.events import ClaimSpeculated, Speculated
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Folds


def speculated(session: Session, event: Speculated) -> Session:
    """INVARIANT: ideas go into the speculative part of the state and nowhere else."""
    ideas, counts = session.speculation.ideas, session.speculation.ideas_per_claim
    for one in event.hypotheses:
        ideas = ideas.insert(one.hypothesis_id, one)
        counts = counts.insert(one.claim_id, counts.get(one.claim_id, 0) + 1)
    held = replace(session.speculation, ideas=ideas, ideas_per_claim=counts)
    return replace(session, speculation=held)


def claim_speculated(session: Session, event: ClaimSpeculated) -> Session:
    ideas = session.speculation.ideas.insert(event.claim.intent_id, event.claim)
    return replace(session, speculation=replace(session.speculation, ideas=ideas))


FOLDS: Final[Folds] = {
    Speculated: speculated,
    ClaimSpeculated: claim_speculated,
}
