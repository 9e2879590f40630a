"""The inbox: a read model over all ledgers of what waits for a person, written with the events it shows."""

from typing import Final

from beliefd.kernel.claims.approvals import OPEN, Approval
from beliefd.kernel.claims.events import ApprovalClosed, ApprovalDecided, BundleGated
from beliefd.kernel.events import Event, TerminationRuled
from beliefd.kernel.state import Session
from beliefd.stores.base import InboxRow

TOUCHING: Final = (TerminationRuled, BundleGated, ApprovalDecided, ApprovalClosed)


def inbox_rows(event: Event, session: Session) -> list[InboxRow]:
    """The rows that an event changes, as they stand in the state after it."""
    if not isinstance(event, TOUCHING):
        return []
    return [_row(session, session.approvals[approval_id]) for approval_id in _touched(event, session)]


def all_rows(session: Session) -> list[InboxRow]:
    """Every row of a session, for a ledger that came from elsewhere."""
    return [_row(session, session.approvals[approval_id]) for approval_id in sorted(session.approvals)]


def _touched(event: Event, session: Session) -> list[str]:
    found: list[str | None] = []
    if isinstance(event, TerminationRuled) and event.approved:
        found = [*sorted(session.approvals)]
    elif isinstance(event, BundleGated):
        found = [event.superseded, _opened(event.gated.approval)]
    elif isinstance(event, ApprovalDecided):
        found = [event.approval_id, None if event.gated is None else _opened(event.gated.approval)]
    elif isinstance(event, ApprovalClosed):
        found = [event.approval_id, _opened(event.successor)]
    return [approval_id for approval_id in found if approval_id is not None]


def _opened(approval: Approval | None) -> str | None:
    return None if approval is None else approval.approval_id


def _row(session: Session, approval: Approval) -> InboxRow:
    # A terminated session records nothing more: what is still there for information stays as it is.
    waits = approval.status in OPEN and not approval.overdue and not session.terminated
    return InboxRow(
        approval_id=approval.approval_id,
        session_id=session.session_id,
        status=approval.status,
        opened_at=approval.opened_at,
        expires_at=approval.expires_at if waits else None,
    )
