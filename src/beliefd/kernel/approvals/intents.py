"""What a decision means for a write intent that waits."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.approvals.shaping import shapers
from beliefd.kernel.approvals.standing import names_of
from beliefd.kernel.approvals.state import Approval, IntentSubject
from beliefd.kernel.approvals.words import agreed, decided, heard, proposers_of_edit
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.changes import cannot_change, needs_person
from beliefd.kernel.intents.rules import after, carried_out, new_intent, opened
from beliefd.kernel.intents.state import Change, Intent, IntentState, Proposition
from beliefd.kernel.intents.warrant import RANK
from beliefd.kernel.state import Session

ENDINGS: Final[dict[str, IntentState]] = {"withdrawn": "cancelled", "refuse": "expired"}


def decide(
    session: Session, approval: Approval, command: DecideApproval, facts: Facts
) -> ApprovalDecided | Refused:
    """A person's word on an intent: approve, downgrade, reject, or ask for more evidence."""
    intent = _intent(session, approval)
    who = facts.principal.id
    if command.decision == "MODIFIED":
        return _downgraded(session, approval, intent, command, facts)
    if command.decision == "DEFERRED":
        # To ask for more evidence is neither a yes nor a no: it stands in the intent's life, not among those.
        deferred = after(intent, "deferred", facts, command.reason)
        return replace(decided(command, facts, approval.closed("deferred", by=who)), intents=(deferred,))
    told = heard(approval, command, facts)
    if command.decision == "REJECTED":
        rejected = after(intent, "rejected", facts, command.reason)
        return replace(decided(command, facts, told.closed("rejected", by=who)), intents=(rejected,))
    if not agreed(session, told, facts):
        return decided(command, facts, told)
    # INVARIANT: what was approved is carried out in the same event, once, or fails for a reason that is told.
    done, propositions = carried_out(session, after(intent, "approved", facts, command.reason), facts)
    event = decided(command, facts, told.closed("approved", by=who))
    return replace(event, intents=(done,), propositions=propositions)


def close(
    session: Session, event: ApprovalClosed, approval: Approval, _: str, facts: Facts
) -> ApprovalClosed:
    """The same ending for the intent that an approval was about."""
    intent = _intent(session, approval)
    if event.outcome in ENDINGS:
        return replace(event, intents=(after(intent, ENDINGS[event.outcome], facts),))
    if event.successor is not None:
        return replace(event, intents=(replace(intent, approval_id=event.successor.approval_id),))
    return event


def _intent(session: Session, approval: Approval) -> Intent:
    assert isinstance(approval.subject, IntentSubject)  # noqa: S101 - asked by who calls this
    intent: Intent = session.intents.by_id[approval.subject.intent_id]
    return intent


def _downgraded(
    session: Session, approval: Approval, intent: Intent, command: DecideApproval, facts: Facts
) -> ApprovalDecided | Refused:
    asked = intent.change.to_status
    if asked is None or command.to_status is None or RANK[command.to_status] >= RANK[asked]:
        text = "an edit of an intent names a weaker `to_status` than the one that was asked for"
        return refused(Code.INVALID_REQUEST, text, "$.to_status")
    change: Change = replace(intent.change, to_status=command.to_status)
    if (problem := cannot_change(session, change, facts.policy.firewall)) is not None:
        return problem
    lower = new_intent(session, change, facts, intent.intent_id)
    item: Approval | None = None
    propositions: tuple[Proposition, ...] = ()
    if needs_person(session, change, facts.policy.firewall):
        people = (*sorted(shapers(session, approval, facts)), *names_of(facts.principal, facts))
        changed, item = opened(session, lower, facts, proposers_of_edit(approval, facts), people)
    else:
        changed, propositions = carried_out(session, lower, facts)
    successor = None if item is None else item.approval_id
    closed = approval.closed("modified", successor, facts.principal.id)
    old = replace(after(intent, "superseded", facts, command.reason), superseded_by=lower.intent_id)
    event = decided(command, facts, closed)
    return replace(event, intents=(old, changed), propositions=propositions, opened=item)
