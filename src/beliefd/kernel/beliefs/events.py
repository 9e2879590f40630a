"""What can happen to a session's beliefs."""

from msgspec import UNSET, UnsetType

from beliefd.kernel.event import EventBase
from beliefd.kernel.labels import Label


class Declared(EventBase, frozen=True, tag="declared"):
    """The session began; its universe is in the entry's payload."""


class Eliminated(EventBase, frozen=True, tag="eliminated", gc=False):
    """`eliminated` left the survivors; `ignored` were no longer (or never) among them.

    `label` is there if something was cited; without it, the elimination is attested.
    """

    ignored: tuple[str, ...] = ()
    label: Label | UnsetType = UNSET


class ObligationEntered(EventBase, frozen=True, tag="obligation_entered"):
    """An obligation was entered."""

    obligation_id: str
    min_total_eliminations: int


class ExitRuled(EventBase, frozen=True, tag="exit_ruled"):
    """An obligation could be left, or not yet."""

    obligation_id: str
    approved: bool
    reason: str


class ConclusionRuled(EventBase, frozen=True, tag="conclusion_ruled"):
    """A conclusion was accepted or refused."""

    conclusion_id: str
    accepted: bool
    reason: str


class TerminationRuled(EventBase, frozen=True, tag="termination_ruled"):
    """A session could be ended, or not yet."""

    approved: bool
    reason: str


class Merged(EventBase, frozen=True, tag="merged"):
    """A replica's eliminations were taken over; `eliminated` are those that were new here.

    `witnessed` are those of them that fell by a witnessed elimination, if there are any.
    """

    ignored: tuple[str, ...] = ()
    witnessed: tuple[str, ...] | UnsetType = UNSET


BeliefEvent = (
    Declared | Eliminated | ObligationEntered | ExitRuled | ConclusionRuled | TerminationRuled | Merged
)
