"""How the events of write intents change the state of a session."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.approvals.state import Approvals
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.state import Intent
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Folds


def intent_staged(session: Session, event: IntentStaged) -> Session:
    changed, approvals = [event.intent], session.approvals
    if event.superseded is not None:
        changed.insert(0, event.superseded)
        approvals = _without(approvals, event.superseded, event.intent)
    return replace(
        session,
        approvals=approvals.with_approval(event.approval),
        intents=session.intents.changed_by(changed, event.propositions),
    )


def _without(approvals: Approvals, old: Intent, new: Intent) -> Approvals:
    """What waited for a word on the old intent does not wait any more."""
    approval = approvals.by_id.get(old.approval_id or "")
    if approval is None or approval.status != "pending":
        return approvals
    return approvals.with_approval(approval.closed("superseded", new.approval_id, new.proposer.id))


FOLDS: Final[Folds] = {IntentStaged: intent_staged}
