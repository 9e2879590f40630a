"""How the events of approvals change the state of a session."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided, GrantGiven, GrantRevoked
from beliefd.kernel.approvals.state import Approval, BundleSubject, InformationSubject
from beliefd.kernel.claims.folds import with_gated
from beliefd.kernel.claims.state import BundleState
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.folds import with_derived, with_mode, with_result, with_snapshot
from beliefd.kernel.tables import Folds


def approval_decided(session: Session, event: ApprovalDecided) -> Session:
    approvals = session.approvals.with_approval(event.approval).with_approval(event.opened)
    approvals = approvals.with_rejected(event.approval)
    intents = session.intents.changed_by(event.intents, event.propositions)
    context = session.context
    if event.approval.status == "approved":
        context = context.with_answered(event.approval.content_hash)
    session = replace(session, approvals=approvals, intents=intents, context=context)
    if event.pinned is not UNSET:
        session = replace(session, catalogue=session.catalogue.with_pin(event.pinned))
    if event.result is not None:
        judged = with_result(with_derived(session, event.derived), event.result)
        return with_mode(with_snapshot(judged, session.substrate.state_version, event.event_id), event.mode)
    if event.replaced is not None:
        state = BundleState(event.event_id, event.replaced.decision, event.approval_id)
        session = _with_bundle(session, event.approval, state)
    return session if event.gated is None else with_gated(session, event.gated, event.event_id)


def approval_closed(session: Session, event: ApprovalClosed) -> Session:
    approvals = session.approvals.with_approval(event.approval).with_approval(event.successor)
    session = replace(session, approvals=approvals, intents=session.intents.changed_by(event.intents))
    if event.bundle is None:
        return session
    approval_id = event.approval_id if event.successor is None else event.successor.approval_id
    return _with_bundle(
        session, event.approval, BundleState(event.event_id, event.bundle.decision, approval_id)
    )


def grant_changed(session: Session, event: GrantGiven | GrantRevoked) -> Session:
    return replace(session, approvals=session.approvals.with_grant(event.grant))


def _with_bundle(session: Session, approval: Approval, state: BundleState) -> Session:
    subject = approval.subject
    # An event that no rule makes is not folded: replay takes a `KeyError` for a ledger that is broken.
    if not isinstance(subject, BundleSubject | InformationSubject):
        raise KeyError(approval.approval_id)
    return replace(session, claims=session.claims.with_bundle(subject.bundle_id, state))


FOLDS: Final[Folds] = {
    ApprovalDecided: approval_decided,
    ApprovalClosed: approval_closed,
    GrantGiven: grant_changed,
    GrantRevoked: grant_changed,
}
