"""How the events of scheduling change the state of a session."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.scheduling.events import Interrupted, ModeSet, Resumed, SignalNoted
from beliefd.kernel.scheduling.state import Raised, Scheduling
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.folds import with_mode, with_stopped
from beliefd.kernel.tables import Folds


def mode_set(session: Session, event: ModeSet) -> Session:
    if event.lowered is not UNSET:
        return with_mode(session, event.lowered)
    held = replace(
        session.substrate, set_mode=event.set_mode, lowered_mode="", mode_since="", lowered_by=None
    )
    return replace(session, substrate=held)


def interrupted(session: Session, event: Interrupted) -> Session:
    for call in event.stopped:
        session = with_stopped(session, call)
    episode = session.scheduling.episode if event.carries is True else None
    held = replace(session.scheduling, interruption=event.interruption, episode=episode)
    if event.interruption.owner is not UNSET:
        held = _raised(held, event.interruption.owner, Raised(wakes=event.wakes, excited=event.excited))
    else:
        held = replace(held, wakes=event.wakes, excited=event.excited)
    return replace(session, scheduling=held)


def signal_noted(session: Session, event: SignalNoted) -> Session:
    held = session.scheduling
    if event.owner is UNSET:
        return replace(session, scheduling=replace(held, excited=event.excited))
    before = held.raised.get(event.owner, Raised())
    return replace(session, scheduling=_raised(held, event.owner, replace(before, excited=event.excited)))


def _raised(held: Scheduling, owner: str, after: Raised) -> Scheduling:
    """Who has raised nothing that counts is not kept."""
    others = {name: one for name, one in held.raised.items() if name != owner}
    return replace(held, raised=others if after == Raised() else {**others, owner: after})


def resumed(session: Session, event: Resumed) -> Session:
    episode = session.scheduling.episode if event.carries is True else None
    held = replace(session.scheduling, interruption=None, episode=episode)
    return replace(session, scheduling=held)


FOLDS: Final[Folds] = {
    ModeSet: mode_set,
    Interrupted: interrupted,
    SignalNoted: signal_noted,
    Resumed: resumed,
}
