"""What people and time do to write intents that wait."""

from msgspec.structs import replace

from beliefd.kernel.claims.approvals import Approval
from beliefd.kernel.claims.bundle import HumanApproval
from beliefd.kernel.claims.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.commands import DecideApproval
from beliefd.kernel.errors import Code
from beliefd.kernel.events import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.firewall.artifacts import Change, Intent, IntentState
from beliefd.kernel.firewall.changes import cannot_change, needs_person
from beliefd.kernel.firewall.intents import after, carried_out, new_intent, opened
from beliefd.kernel.firewall.promotion import RANK
from beliefd.kernel.state import Session

ENDINGS: dict[str, IntentState] = {"withdrawn": "cancelled", "refuse": "expired"}


def decide_intent(
    session: Session, approval: Approval, command: DecideApproval, needed: int, facts: Facts
) -> ApprovalDecided | Refused:
    """A person's word on an intent: approve, downgrade, reject, or ask for more evidence."""
    intent: Intent = session.intents[approval.intent_id]
    if command.decision == "MODIFIED":
        return _downgraded(session, approval, intent, command, facts)
    if command.decision == "DEFERRED":
        # To ask for more evidence is neither a yes nor a no: it stands in the intent's life, not among those.
        deferred = after(intent, "deferred", facts, command.reason)
        return _event(command, facts, _closed(approval, "deferred", facts), deferred)
    word = HumanApproval(
        approver=facts.principal.id, timestamp=facts.now, decision=command.decision, reason=command.reason
    )
    heard = replace(approval, approvals=(*approval.approvals, word))
    if command.decision == "REJECTED":
        rejected = after(intent, "rejected", facts, command.reason)
        return _event(command, facts, _closed(heard, "rejected", facts), rejected)
    if len(heard.approvals) < needed:
        return _event(command, facts, heard)
    # INVARIANT: what was approved is carried out in the same event, once, or fails for a reason that is told.
    done, propositions = carried_out(session, after(intent, "approved", facts, command.reason), facts)
    event = _event(command, facts, _closed(heard, "approved", facts), done)
    return replace(event, propositions=propositions)


def intent_closed(
    session: Session, approval: Approval, event: ApprovalClosed, facts: Facts
) -> ApprovalClosed:
    """The same ending for the intent that an approval was about."""
    if not approval.intent_id:
        return event
    intent: Intent = session.intents[approval.intent_id]
    if event.outcome in ENDINGS:
        return replace(event, intents=(after(intent, ENDINGS[event.outcome], facts),))
    if event.successor is not None:
        return replace(event, intents=(replace(intent, approval_id=event.successor.approval_id),))
    return event


def _downgraded(
    session: Session, approval: Approval, intent: Intent, command: DecideApproval, facts: Facts
) -> ApprovalDecided | Refused:
    """INVARIANT: an edit is a new intent by who edited it; where a person must agree, it is another one."""
    asked = intent.change.to_status
    if asked is None or command.to_status is None or RANK[command.to_status] >= RANK[asked]:
        text = "an edit of an intent names a weaker `to_status` than the one that was asked for"
        return refused(Code.INVALID_REQUEST, text, "$.to_status")
    change: Change = replace(intent.change, to_status=command.to_status)
    if (problem := cannot_change(session, change, facts.policy.firewall.alpha)) is not None:
        return problem
    lower = new_intent(session, change, facts, intent.intent_id)
    if needs_person(session, change, facts.policy.firewall):
        proposers = tuple(dict.fromkeys((*approval.proposers, facts.principal.id)))
        waiting, item = opened(lower, facts, proposers)
        closed = _closed(approval, "modified", facts, item.approval_id)
        event = replace(_event(command, facts, closed), opened=item)
    else:
        waiting, propositions = carried_out(session, lower, facts)
        event = replace(
            _event(command, facts, _closed(approval, "modified", facts)), propositions=propositions
        )
    old = replace(after(intent, "superseded", facts, command.reason), superseded_by=lower.intent_id)
    return replace(event, intents=(old, waiting))


def _event(
    command: DecideApproval, facts: Facts, approval: Approval, intent: Intent | None = None
) -> ApprovalDecided:
    return ApprovalDecided(
        event_id=facts.event_id,
        approval_id=command.approval_id,
        decision=command.decision,
        approver=facts.principal.id,
        approval=approval,
        intents=() if intent is None else (intent,),
    )


def _closed(approval: Approval, status: str, facts: Facts, successor: str | None = None) -> Approval:
    return replace(approval, status=status, change=None, successor=successor, decided_by=facts.principal.id)
