"""What a claim rests on, as far as that is known here: its evidence, and what was measured of it."""

from typing import Final, Literal

from msgspec import UNSET, UnsetType

from beliefd.kernel.claims.policy import EvidenceState
from beliefd.kernel.labels import WITNESSED, Label
from beliefd.kernel.values import Value


class PointerStanding(Value, frozen=True, omit_defaults=True):
    """How far one pointer's evidence is known here. `by` says who brought or saw it, or why it is no more."""

    state: EvidenceState
    by: str = ""


class CitedReceipt(Value, frozen=True, omit_defaults=True):
    """The receipt that a claim cites, as far as policy may ask for it."""

    measurement_id: str
    value: float
    label: Label
    method: str
    judge: str = ""
    k: int = 0


class MeasuredStanding(Value, frozen=True, omit_defaults=True):
    """What was measured of a claim's words: the receipt with the highest value of all that count for them.

    `cited` is the one that the claim itself names, `receipts` is how many count. `own_words` is there if the
    receipt is of words that only look like the claim's: how well those very words were measured.
    """

    measurement_id: str
    value: float
    label: Label
    how: str
    receipts: int = 1
    cited: CitedReceipt | UnsetType = UNSET
    own_words: Literal["declared", "attested", "witnessed"] | UnsetType = UNSET

    @property
    def is_witnessed(self) -> bool:
        """Has somebody else than who proposes it drawn the answers of a receipt of these very words?"""
        return WITNESSED in {self.own_words or self.label, self.cited and self.cited.label}


class ClaimStanding(Value, frozen=True, omit_defaults=True):
    """What a claim rests on: its pointers in their order, and what was measured of its words."""

    evidence: tuple[PointerStanding, ...] = ()
    measured: MeasuredStanding | UnsetType = UNSET


UNSEEN: Final = PointerStanding(state="attested")
UNSEEN_ALONE: Final = ClaimStanding((UNSEEN,))
"""Of most claims no more is known: one value does for all of them."""
Standings = dict[str, ClaimStanding]
"""By the id of the claim; a claim that names no evidence and was not measured has none."""
