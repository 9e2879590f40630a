"""How the events of scheduling change the state of a session."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.scheduling.events import Interrupted, ModeSet, Resumed, SignalNoted
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.folds import with_mode, with_stopped
from beliefd.kernel.tables import Folds


def mode_set(session: Session, event: ModeSet) -> Session:
    if event.lowered is not UNSET:
        return with_mode(session, event.lowered)
    held = replace(session.substrate, set_mode=event.set_mode, lowered_mode="", mode_since="")
    return replace(session, substrate=held)


def interrupted(session: Session, event: Interrupted) -> Session:
    for call in event.stopped:
        session = with_stopped(session, call)
    held = replace(
        session.scheduling,
        interruption=event.interruption,
        wakes=event.wakes,
        excited=event.excited,
        episode=session.scheduling.episode if event.carries is True else None,
    )
    return replace(session, scheduling=held)


def signal_noted(session: Session, event: SignalNoted) -> Session:
    return replace(session, scheduling=replace(session.scheduling, excited=event.excited))


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
