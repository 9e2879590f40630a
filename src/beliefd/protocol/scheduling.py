"""Modes, interrupts and episodes: when a session may act, and how much."""

from typing import Final

from beliefd.kernel.errors import Code
from beliefd.kernel.scheduling.commands import Interrupt, Resume, SetMode
from beliefd.protocol.operation import SESSION, Answer, Vocabulary, reads, writes
from beliefd.protocol.rights import Right

ON_SCHEDULING: Final = (Code.SESSION_NOT_FOUND,)


class SetModeView(Answer, frozen=True):
    """A mode that a person has set; without `until`, it holds until it is set again."""

    mode: str
    by: str
    reason: str
    since: str
    until: str | None


class LoweredView(Answer, frozen=True):
    """A mode that was lowered and has not recovered: at whose word (a program's, or the proposer of what a
    constraint degraded it for), why, and since when it is as it is."""

    mode: str
    by: str
    reason: str
    since: str


class InterruptionView(Answer, frozen=True):
    """What interrupts a session. `kind` is `budget` if an episode was used up; without `until`, it takes
    somebody who resumes: a person if `only_people` is true, else a person or a program of the owner of `by`.
    """

    kind: str
    reason: str
    by: str
    at: str
    until: str | None
    only_people: bool


class EpisodeView(Answer, frozen=True):
    """The episode under way: what it has used, and what it may use in the mode of now."""

    since: str
    used: dict[str, float]
    limits: dict[str, int]


class ScheduleView(Answer, frozen=True):
    """When a session may act, and how much. `set_to` is what the mode recovers to.

    `network` and `mutating` are whether calls that reach the network or change things are let through.
    `wakes` are the times of interrupts by programs that still count for whoever raised them.
    """

    mode: str
    set_to: str
    set_mode: SetModeView | None
    lowered: LoweredView | None
    budget_share: float
    network: bool
    mutating: bool
    interruption: InterruptionView | None
    episode: EpisodeView | None
    wakes: list[str]
    seq: int


class ScheduleAnswer(Answer, frozen=True):
    """The schedule right after it was changed."""

    schedule: ScheduleView
    audit_event_id: str


class InterruptAnswer(Answer, frozen=True):
    """Whether the session is interrupted by this, and `why` not.

    `stopped` are calls that had not begun and never will, `cancelled` those that ran on the server and were
    asked to end, `elsewhere` those that their callers run: nobody but them can stop these.
    """

    interrupted: bool
    why: str
    stopped: list[str]
    cancelled: list[str]
    elsewhere: list[str]
    schedule: ScheduleView
    audit_event_id: str


class SchedulingRows(Vocabulary):
    """Modes, interrupts and episodes: when a session may act, and how much"""

    show_schedule = reads(
        f"{SESSION}/schedule", ScheduleView, "The mode, what interrupts the session, and its episode"
    )
    set_mode = writes(
        f"{SESSION}/mode",
        SetMode,
        ScheduleAnswer,
        "Set the mode of a session; programs can only lower it",
        errors=(Code.FORBIDDEN,),
        right=Right.APPROVE,
        beside=True,
        example={"mode": "eco", "reason": "a release is under way", "until": "2100-01-01T12:00:00Z"},
    )
    interrupt = writes(
        f"{SESSION}/interrupts",
        Interrupt,
        InterruptAnswer,
        "Stop a session: nothing is let through until it is resumed",
        beside=True,
        example={"kind": "user_intent", "reason": "wait until the release is out", "running": "drain"},
    )
    resume = writes(
        f"{SESSION}/resume",
        Resume,
        ScheduleAnswer,
        "Let an interrupted session go on; in a new episode, if a person says so",
        errors=(Code.FORBIDDEN,),
        right=Right.APPROVE,
        beside=True,
        example={"reason": "the release is out"},
    )
