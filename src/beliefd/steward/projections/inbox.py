"""The inbox: a projection of all ledgers on what waits for a person.

Calls and runs under way stand in it too, as `running`: one whose outcome nobody records is found at its
deadline.
"""

from collections.abc import Iterable
from typing import Final

from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.approvals.state import OPEN, Approval
from beliefd.kernel.beliefs.events import TerminationRuled
from beliefd.kernel.claims.events import BundleGated
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.events import RunRecorded, RunStarted
from beliefd.kernel.experiments.state import Run
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.events import Arbitrated, CandidateResult, OutcomeRecorded
from beliefd.kernel.substrate.state import ToolCall
from beliefd.stores.base import InboxRow

TOUCHING: Final = frozenset(
    {
        TerminationRuled,
        BundleGated,
        ApprovalDecided,
        ApprovalClosed,
        Arbitrated,
        OutcomeRecorded,
        RunStarted,
        RunRecorded,
        IntentStaged,
    }
)
RUNNING: Final = "running"
DONE: Final = "done"


def inbox_rows(event: Event, session: Session) -> list[InboxRow]:
    """The rows that an event changes, as they stand in the state after it."""
    if isinstance(event, TerminationRuled):
        # Nothing waits in a session that ended: neither for a person nor for an outcome.
        return all_rows(session) if event.approved else []
    rows = [_row(session, session.approvals.by_id[approval_id]) for approval_id in _approvals(event, session)]
    if isinstance(event, RunStarted | RunRecorded):
        rows.append(_run_row(session, event.run))
    return rows + [_call_row(session, session.substrate.calls[call_id]) for call_id in _calls(event)]


def all_rows(session: Session) -> list[InboxRow]:
    """Every row of a session, as its events left them."""
    rows = [
        _row(session, session.approvals.by_id[approval_id]) for approval_id in sorted(session.approvals.by_id)
    ]
    rows += [
        _call_row(session, session.substrate.calls[call_id]) for call_id in sorted(session.substrate.calls)
    ]
    return rows + [
        _run_row(session, session.experiments.runs[run_id]) for run_id in sorted(session.experiments.runs)
    ]


def _approvals(event: Event, session: Session) -> list[str]:
    found: list[Approval | str | None] = []
    if isinstance(event, BundleGated):
        found = [event.superseded, event.gated.approval]
    elif isinstance(event, ApprovalDecided):
        found = [event.approval_id, None if event.gated is None else event.gated.approval, event.opened]
        found += [result.approval for result in _results(event)]
    elif isinstance(event, ApprovalClosed):
        found = [event.approval_id, event.successor]
    elif isinstance(event, Arbitrated):
        found = [result.approval for result in event.results]
    elif isinstance(event, IntentStaged):
        found = [event.approval, None if event.superseded is None else event.superseded.approval_id]
    return [one.approval_id if isinstance(one, Approval) else one for one in found if one is not None]


def _calls(event: Event) -> list[str]:
    if isinstance(event, OutcomeRecorded):
        return [event.call.call_id]
    return [result.call.call_id for result in _results(event) if result.call is not None]


def _results(event: Event) -> Iterable[CandidateResult]:
    if isinstance(event, Arbitrated):
        return event.results
    return (event.result,) if isinstance(event, ApprovalDecided) and event.result is not None else ()


def _row(session: Session, approval: Approval) -> InboxRow:
    # A terminated session records nothing more: what is still there for information stays as it is.
    waits = approval.status in OPEN and not approval.overdue and not session.beliefs.terminated
    return InboxRow(
        approval_id=approval.approval_id,
        session_id=session.session_id,
        status=approval.status,
        opened_at=approval.opened_at,
        expires_at=approval.expires_at if waits else None,
    )


def _call_row(session: Session, call: ToolCall) -> InboxRow:
    running = call.status == "scheduled" and not session.beliefs.terminated
    return InboxRow(
        approval_id=call.call_id,
        session_id=session.session_id,
        status=RUNNING if running else DONE,
        opened_at=call.scheduled_at,
        expires_at=call.deadline if running else None,
    )


def _run_row(session: Session, run: Run) -> InboxRow:
    running = run.status == "running" and not session.beliefs.terminated
    return InboxRow(
        approval_id=run.run_id,
        session_id=session.session_id,
        status=RUNNING if running else DONE,
        opened_at=run.started_at,
        expires_at=run.deadline if running else None,
    )
