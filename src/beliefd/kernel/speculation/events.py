"""What can happen in the speculative lane."""

from beliefd.kernel.event import EventBase
from beliefd.kernel.speculation.state import SpeculativeClaim, SpeculativeHypothesis


class Speculated(EventBase, frozen=True, tag="speculated"):
    """Ideas were noted. Each is linked to its session; the link to a proposition is tried, and may fail."""

    hypotheses: tuple[SpeculativeHypothesis, ...]
    links_attempted: int
    links_created: int


class ClaimSpeculated(EventBase, frozen=True, tag="claim_speculated"):
    """A claim was put forward in the speculative lane, where it stays."""

    claim: SpeculativeClaim


SpeculationEvent = Speculated | ClaimSpeculated
