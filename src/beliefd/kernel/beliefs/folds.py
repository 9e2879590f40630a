"""How the events of beliefs change the state of a session."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.beliefs.events import (
    ConclusionRuled,
    Eliminated,
    ExitRuled,
    Merged,
    ObligationEntered,
    TerminationRuled,
)
from beliefd.kernel.beliefs.state import Obligation
from beliefd.kernel.labels import WITNESSED
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Folds


def eliminated(session: Session, event: Eliminated) -> Session:
    witnessed = 0 if event.label is UNSET else witnessed_in(event)
    return replace(session, beliefs=session.beliefs.without(event.eliminated, witnessed))


def merged(session: Session, event: Merged) -> Session:
    return replace(session, beliefs=session.beliefs.without(event.eliminated, witnessed_in(event)))


def witnessed_in(event: Eliminated | Merged) -> int:
    """How many of the hypotheses that fell by an event fell by a witnessed elimination."""
    if isinstance(event, Eliminated):
        return len(event.eliminated) if event.label == WITNESSED else 0
    return 0 if event.witnessed is UNSET else len(event.witnessed)


def obligation_entered(session: Session, event: ObligationEntered) -> Session:
    held = session.beliefs
    # Re-entry after an approved exit moves the obligation to the end: "latest entered" is dict order.
    others = {oid: kept for oid, kept in held.obligations.items() if oid != event.obligation_id}
    entered = Obligation(event.min_total_eliminations, held.eliminations)
    return replace(session, beliefs=replace(held, obligations={**others, event.obligation_id: entered}))


def exit_ruled(session: Session, event: ExitRuled) -> Session:
    held = session.beliefs
    obligation = held.obligations[event.obligation_id]
    released = replace(obligation, active=obligation.active and not event.approved)
    obligations = {**held.obligations, event.obligation_id: released}
    return replace(session, beliefs=replace(held, obligations=obligations))


def conclusion_ruled(session: Session, event: ConclusionRuled) -> Session:
    if not event.accepted:
        return session
    held, cid = session.beliefs, event.conclusion_id
    held = replace(
        held,
        conclusions={**held.conclusions, cid: held.conclusions.get(cid, 0) + 1},
        last_conclusion=cid,
        conclusion_streak=held.conclusion_streak + 1 if cid == held.last_conclusion else 1,
    )
    return replace(session, beliefs=held)


def termination_ruled(session: Session, event: TerminationRuled) -> Session:
    return replace(session, beliefs=replace(session.beliefs, terminated=event.approved))


FOLDS: Final[Folds] = {
    Eliminated: eliminated,
    Merged: merged,
    ObligationEntered: obligation_entered,
    ExitRuled: exit_ruled,
    ConclusionRuled: conclusion_ruled,
    TerminationRuled: termination_ruled,
}
