"""What the steward found out about a bundle before the gates ran; recorded beside the decision."""

from typing import Literal

from msgspec import UNSET, UnsetType

from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.values import Note, Unit, Value


class UncertaintySource(Value, frozen=True):
    """Where a claim's uncertainty comes from, and what was measured if anything was."""

    source: Literal["measured", "self-declared"]
    value: Unit
    interpretation: Note = ""


class ClaimFindings(Value, frozen=True, tag_field="of", tag="claims"):
    """Facts for the gates. `content` says, for each SHA-256 whose bytes are at hand, whether they match.

    `uncertainty` is there if a claim of the bundle came with raw answers, and then names every claim.
    `fallen` is there if claims are about eliminated hypotheses: the event that eliminated each.
    """

    threat: Threat
    content: dict[str, Literal["match", "mismatch"]] = {}
    recent: int = 0
    origin: str | None = None
    uncertainty: dict[str, UncertaintySource] | UnsetType = UNSET
    fallen: dict[str, str] | UnsetType = UNSET
