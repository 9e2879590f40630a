"""What several sessions make of one proposition."""

from collections.abc import Iterable
from typing import Final

from beliefd.kernel.intents.state import EpistemicStatus
from beliefd.knowledge.schema import QUARANTINED

STRENGTH: Final[tuple[EpistemicStatus, ...]] = ("proven", "supported", "refuted", "unresolved", "speculative")
_FOR: Final = frozenset({"proven", "supported"})
_AGAINST: Final = "refuted"


def combined(statuses: Iterable[str]) -> EpistemicStatus:
    """The status over all sessions: the strongest, unless one session supports what another refutes.

    A session that has put it under quarantine has no say; if all have, nobody knows.
    """
    said = set(statuses) - {QUARANTINED}
    if said & _FOR and _AGAINST in said:
        return "unresolved"
    return next((status for status in STRENGTH if status in said), "unresolved")


def may_combine_to(status: EpistemicStatus) -> tuple[str, ...]:
    """What at least one session must say for the combined status to come out as `status`."""
    if status == "unresolved":
        return ("unresolved", _AGAINST, QUARANTINED)
    return (status,)
