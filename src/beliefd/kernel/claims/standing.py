"""What a claim rests on, as far as that is known here: its evidence, and what was measured of it."""

from msgspec import UNSET, UnsetType

from beliefd.kernel.labels import Label
from beliefd.kernel.policy import EvidenceState
from beliefd.kernel.values import Value


class PointerStanding(Value, frozen=True, omit_defaults=True):
    """How far one pointer's evidence is known here. `by` says who brought or saw it, or why it is no more."""

    state: EvidenceState
    by: str = ""


class MeasuredStanding(Value, frozen=True, omit_defaults=True):
    """What was measured of a claim's words. `value` is the highest of all receipts that count for them."""

    measurement_id: str
    value: float
    label: Label
    how: str
    k: int = 0
    judge: str = ""
    method: str = ""
    receipts: int = 1


class ClaimStanding(Value, frozen=True, omit_defaults=True):
    """What a claim rests on: its pointers in their order, and what was measured of its words."""

    evidence: tuple[PointerStanding, ...] = ()
    measured: MeasuredStanding | UnsetType = UNSET


Standings = dict[str, ClaimStanding]
"""By the id of the claim; a claim that names no evidence and was not measured has none."""
