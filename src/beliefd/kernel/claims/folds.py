"""How claim events change the state of a session."""

from msgspec.structs import replace

from beliefd.kernel.claims.approvals import Approval
from beliefd.kernel.claims.events import (
    ApprovalClosed,
    ApprovalDecided,
    BundleGated,
    Gated,
    Grant,
    GrantGiven,
    GrantRevoked,
)
from beliefd.kernel.firewall.folds import with_intents
from beliefd.kernel.state import BundleState, Session
from beliefd.kernel.substrate.folds import with_mode, with_result, with_snapshot

TRAIL_LENGTH = 32


def bundle_gated(session: Session, event: BundleGated) -> Session:
    if event.superseded is not None:
        old: Approval = session.approvals[event.superseded]
        successor = None if event.gated.approval is None else event.gated.approval.approval_id
        closed = replace(
            old, status="superseded", bundle=None, successor=successor, decided_by=event.proposer
        )
        session = _with_approval(session, closed)
    if event.grant_id is not None:
        grant: Grant = session.grants[event.grant_id]
        session = replace(
            session, grants=session.grants.insert(event.grant_id, replace(grant, uses=grant.uses + 1))
        )
    step = (event.proposer, int(event.gated.bundle.tier))
    return replace(
        _with_gated(session, event.gated, event.event_id), trail=(*session.trail, step)[-TRAIL_LENGTH:]
    )


def approval_decided(session: Session, event: ApprovalDecided) -> Session:
    session = _with_approval(session, event.approval)
    if event.opened is not None:
        session = _with_approval(session, event.opened)
    session = with_intents(session, event.intents, event.propositions)
    if event.result is not None:
        judged = with_result(session, event.result)
        return with_mode(with_snapshot(judged, session.state_version, event.event_id), event.mode)
    if event.replaced is not None:
        state = BundleState(event.event_id, event.replaced.decision, event.approval_id)
        session = replace(session, bundles=session.bundles.insert(event.approval.bundle_id, state))
    return session if event.gated is None else _with_gated(session, event.gated, event.event_id)


def approval_closed(session: Session, event: ApprovalClosed) -> Session:
    session = with_intents(_with_approval(session, event.approval), event.intents)
    approval_id = event.approval_id
    if event.successor is not None:
        approval_id = event.successor.approval_id
        session = _with_approval(session, event.successor)
    if event.bundle is None:
        return session
    state = BundleState(event.event_id, event.bundle.decision, approval_id)
    return replace(session, bundles=session.bundles.insert(event.approval.bundle_id, state))


def grant_changed(session: Session, event: GrantGiven | GrantRevoked) -> Session:
    grants = session.grants.insert(event.grant.grant_id, event.grant)
    return replace(session, grants=grants)


def _with_approval(session: Session, approval: Approval) -> Session:
    return replace(session, approvals=session.approvals.insert(approval.approval_id, approval))


def _with_gated(session: Session, gated: Gated, event_id: str) -> Session:
    approval_id = None
    if gated.approval is not None:
        session = _with_approval(session, gated.approval)
        approval_id = gated.approval.approval_id
    state = BundleState(event_id, gated.bundle.decision, approval_id)
    return replace(session, bundles=session.bundles.insert(gated.bundle.id or "", state))
