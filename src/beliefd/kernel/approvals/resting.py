"""What rests on a bundle that people approved, when something of that bundle has ended since."""

from msgspec import Struct

from beliefd.kernel.approvals.state import BundleSubject, InformationSubject
from beliefd.kernel.claims.endings import words_for
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.tools import Witness


class Doubt(Struct, frozen=True):
    """Why a witness counts for less than it did, and whether anything of what it saw still stands."""

    text: str
    stands: bool


def doubt_about(session: Session, witness: Witness | None) -> Doubt | None:
    """What ended last of the bundle whose approval bears witness; None if all of it stands."""
    if witness is None or witness.kind != "person" or not session.claims.ended:
        return None
    approval = session.approvals.by_id.get(witness.about)
    subject = None if approval is None else approval.subject
    if not isinstance(subject, BundleSubject | InformationSubject):
        return None
    ended = session.claims.ending(subject.bundle_id)
    if ended is None:
        return None
    return Doubt(f"bundle `{ended.bundle_id}`, which confirms it, was {words_for(ended)}", ended.standing > 0)
