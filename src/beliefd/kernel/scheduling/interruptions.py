"""Whether a session is interrupted at a time, and what that means for what is proposed or about to begin."""

from msgspec import UNSET

from beliefd.kernel.policy import Policy
from beliefd.kernel.scheduling.state import BUDGET, Interruption
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.values import PEOPLE, Principal, seconds

CODE = "INTERRUPTED"


def interruption_at(session: Session, now: str) -> Interruption | None:
    """What interrupts a session at a time; the rest after an episode ends by itself."""
    held = session.scheduling.interruption
    if held is not None and held.until is not UNSET and seconds(now) >= seconds(held.until):
        return None
    return held


def stops_beginning(session: Session, now: str) -> Interruption | None:
    """What keeps calls from beginning that were let through before. Those of an episode that was used up
    after they were are within its budget, and run."""
    held = interruption_at(session, now)
    return None if held is None or held.kind == BUDGET else held


def reason_of(held: Interruption) -> Reason:
    """Why nothing is let through, with who may end that."""
    ends = "" if held.until is UNSET else f", until {held.until}"
    text = f"the session is interrupted ({held.kind}) by {held.by} since {held.at}{ends}: {held.reason}"
    who = "a person" if only_people_resume(held) else "somebody" if held.owner is UNSET else _raiser(held)
    return Reason(code=CODE, text=text, remedy=f"{who} who resumes the session")


def _raiser(held: Interruption) -> str:
    return f"{held.by}, or another program of its owner, or a person,"


def may_resume(held: Interruption, who: Principal, policy: Policy) -> bool:
    """INVARIANT: no program ends what another raised: who is watched does not switch off who watches."""
    if who.role in PEOPLE:
        return True
    if only_people_resume(held):
        return False
    if policy.arbitration.scheduling == 1:
        return True
    return held.by == who.id if held.owner is UNSET else held.owner == who.person


def only_people_resume(held: Interruption) -> bool:
    """INVARIANT: no program ends what a person began, what the user wants, or what policy limits."""
    return held.by_person or held.kind not in ("surprisal", "goal_conflict")
