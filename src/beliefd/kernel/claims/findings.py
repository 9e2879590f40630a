"""What the steward found out about a bundle before the gates ran; recorded beside the decision."""

from typing import Literal

from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.values import Value


class ClaimFindings(Value, frozen=True, tag_field="of", tag="claims"):
    """Facts for the gates. `content` says, for each SHA-256 whose bytes are at hand, whether they match."""

    threat: Threat
    content: dict[str, Literal["match", "mismatch"]] = {}
    recent: int = 0
    origin: str | None = None
