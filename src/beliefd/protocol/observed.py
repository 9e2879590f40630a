"""The values of what claims cite: nobody has compared them with the statement, so they stand beside it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from beliefd.kernel.claims.bundle import Claim
from beliefd.kernel.values import shown

if TYPE_CHECKING:
    from beliefd.kernel.observations.state import Observation
    from beliefd.kernel.state import Session

OBSERVATION: Final = "observation://"


def counted(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"


def values_of(one: "Observation") -> str:
    """Bounded, however many values there are."""
    unit = "" if one.unit == "1" else f" {shown(one.unit)}"
    span = f"{one.low:g}" if one.low == one.high else f"from {one.low:g} to {one.high:g}"
    return f"{counted(one.count)} {span}{unit}"


def observed_in(claims: Iterable[Claim], session: "Session | None") -> dict[str, str]:
    """The values of each observation of this session that a claim cites with its digest, by the source."""
    held = {} if session is None else session.observations.by_id
    found = {}
    for pointer in (pointer for claim in claims for pointer in claim.evidence_pointers):
        one = held.get(pointer.source.removeprefix(OBSERVATION)) if held else None
        cited = one is not None and pointer.source.startswith(OBSERVATION)
        if one is not None and cited and one.digest == pointer.evidence_hash.lower():
            found[pointer.source] = values_of(one)
    return found
