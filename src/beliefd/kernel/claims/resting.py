"""What rests on a bundle that people approved, when something of that bundle has ended since."""

from beliefd.kernel.approvals.state import BundleSubject, InformationSubject
from beliefd.kernel.claims.endings import Ended
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.tools import Witness


def ended_under(session: Session, witness: Witness | None) -> Ended | None:
    """What ended last of the bundle whose approval bears witness; None if all of it stands."""
    if witness is None or witness.kind != "person" or not session.claims.ended:
        return None
    approval = session.approvals.by_id.get(witness.about)
    subject = None if approval is None else approval.subject
    if not isinstance(subject, BundleSubject | InformationSubject):
        return None
    return session.claims.ending(subject.bundle_id)
