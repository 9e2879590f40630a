"""Whether a session is interrupted at a time, and what that means for what is proposed or about to begin."""

from msgspec import UNSET

from beliefd.kernel.scheduling.state import BUDGET, Interruption
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.values import seconds

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
    who = "a person" if only_people_resume(held) else "somebody"
    return Reason(code=CODE, text=text, remedy=f"{who} who resumes the session")


def only_people_resume(held: Interruption) -> bool:
    """INVARIANT: no program ends what a person began, what the user wants, or what policy limits."""
    return held.by_person or held.kind not in ("surprisal", "goal_conflict")
