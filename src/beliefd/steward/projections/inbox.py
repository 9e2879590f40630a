"""The inbox: a projection of all ledgers on what waits for a person.

Calls and runs under way stand in it too, as `running`: one whose outcome nobody records is found at its
deadline.
"""

from typing import Final

from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.approvals.opening import opened_by, results_of
from beliefd.kernel.approvals.state import OPEN, Approval
from beliefd.kernel.beliefs.events import TerminationRuled
from beliefd.kernel.catalogues.events import ToolsPinned
from beliefd.kernel.claims.events import BundleGated
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.events import RunRecorded, RunStarted
from beliefd.kernel.experiments.state import Run
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.parts import Growing
from beliefd.kernel.scheduling.events import Interrupted
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.events import Arbitrated, CallStarted, CallStopped, OutcomeRecorded
from beliefd.kernel.substrate.state import ToolCall
from beliefd.kernel.transfers.events import SessionSealed, SessionUnsealed
from beliefd.stores.projections import InboxRow

TOUCHING: Final = frozenset(
    {
        TerminationRuled,
        BundleGated,
        ApprovalDecided,
        ApprovalClosed,
        Arbitrated,
        CallStarted,
        CallStopped,
        OutcomeRecorded,
        RunStarted,
        RunRecorded,
        IntentStaged,
        ToolsPinned,
        Interrupted,
        SessionSealed,
        SessionUnsealed,
    }
)
RUNNING: Final = "running"
DONE: Final = "done"


def inbox_rows(event: Event, session: Session) -> list[InboxRow]:
    """The rows that an event changes, as they stand in the state after it."""
    if type(event) is BundleGated and event.gated.approval is None and event.superseded is None:
        return []  # as most bundles: nobody is asked
    if isinstance(event, TerminationRuled):
        # Nothing waits in a session that ended: neither for a person nor for an outcome.
        return all_rows(session) if event.approved else []
    if isinstance(event, SessionSealed | SessionUnsealed):
        return all_rows(session)
    touched = [*opened_by(event), *_closed_by(event, session.approvals.by_id)]
    rows = [_row(session, one) for one in touched]
    if isinstance(event, RunStarted | RunRecorded):
        rows.append(_run_row(session, event.run))
    if isinstance(event, CallStarted | CallStopped | OutcomeRecorded):
        rows.append(_call_row(session, event.call))
    if isinstance(event, Interrupted):
        rows += [_call_row(session, call) for call in event.stopped]
    touched_calls = (
        call for result in results_of(event) for call in (result.call, result.started, result.stopped)
    )
    return rows + [_call_row(session, call) for call in touched_calls if call]


def all_rows(session: Session) -> list[InboxRow]:
    """Every row of a session, as its events left them."""
    approvals, calls, runs = session.approvals.by_id, session.substrate.calls, session.experiments.runs
    return [
        *(_row(session, approvals[name]) for name in sorted(approvals)),
        *(_call_row(session, calls[name]) for name in sorted(calls)),
        *(_run_row(session, runs[name]) for name in sorted(runs)),
    ]


def row_of(session: Session, name: str) -> InboxRow | None:
    """The row of this name, as the events left it; None if no event made one."""
    approvals, calls, runs = session.approvals.by_id, session.substrate.calls, session.experiments.runs
    if name in approvals:
        return _row(session, approvals[name])
    if name in calls:
        return _call_row(session, calls[name])
    return _run_row(session, runs[name]) if name in runs else None


def _closed_by(event: Event, approvals: "Growing[Approval]") -> list[Approval]:
    """The approvals that were open before an event, and that it says something about."""
    if isinstance(event, ApprovalDecided | ApprovalClosed):
        return [event.approval]
    superseded = None
    if isinstance(event, BundleGated):
        superseded = event.superseded
    elif isinstance(event, IntentStaged) and event.superseded is not None:
        superseded = event.superseded.approval_id
    return [] if superseded is None else [approvals[superseded]]


def _row(session: Session, approval: Approval) -> InboxRow:
    # A closed session records nothing more: what is still there for information stays as it is.
    waits = approval.status in OPEN and not approval.overdue and not _is_closed(session)
    return InboxRow(
        approval_id=approval.approval_id,
        session_id=session.session_id,
        status=approval.status,
        opened_at=approval.opened_at,
        expires_at=approval.expires_at if waits else None,
        principal=approval.proposer.id,
    )


def _call_row(session: Session, call: ToolCall) -> InboxRow:
    return _work_row(session, call.call_id, call.is_under_way, call.scheduled_at, call.deadline)


def _run_row(session: Session, run: Run) -> InboxRow:
    unfinished = run.status == "running"
    return _work_row(session, run.run_id, unfinished, run.started_at, run.deadline, run.started_by)


def _work_row(
    session: Session, name: str, unfinished: bool, since: str, deadline: str, principal: str | None = None
) -> InboxRow:
    if unfinished and not _is_closed(session):
        return InboxRow(name, session.session_id, RUNNING, since, deadline, principal)
    return InboxRow(name, session.session_id, DONE, since, None, principal)


def _is_closed(session: Session) -> bool:
    return session.beliefs.terminated or session.transfers.seal is not None
