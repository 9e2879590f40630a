"""What imagining leaves behind: hypotheses and claims that weigh nothing."""

from typing import Annotated, Final, Literal

import msgspec

from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.values import Text, Unit, Value

HYPOTHESIS_PREFIX: Final = "shyp-"
CLAIM_PREFIX: Final = "sclm-"
RESERVED: Final = (HYPOTHESIS_PREFIX, CLAIM_PREFIX)
"""INVARIANT: every id of the speculative lane begins with one of these, and no other id does.

So an id tells its lane by itself, and to judge it nobody has to look into that lane.
"""


class Alternative(Value, frozen=True):
    """An idea, as its author puts it. It may be anything; that is why it stays in its lane."""

    statement: Text
    mechanism: Annotated[str, msgspec.Meta(max_length=20_000)] = ""
    prediction: Annotated[str, msgspec.Meta(max_length=20_000)] = ""
    confidence: Unit | None = None


class SpeculativeHypothesis(Value, frozen=True, tag_field="artifact", tag="speculative-hypothesis"):
    """A speculative hypothesis: scoped to its session, and of no weight there either."""

    hypothesis_id: str
    claim_id: str
    alternative: Alternative
    proposed_by: str
    proposed_at: str
    targets_proposition: bool
    lane: Literal["speculative"] = "speculative"


class SpeculativeClaim(Value, frozen=True, tag_field="artifact", tag="speculative-claim"):
    """A claim that somebody would like to see tested. It has the status `speculative`, and no way up."""

    intent_id: str
    claim_id: str
    statement: str
    proposed_by: str
    proposed_at: str
    lane: Literal["speculative"] = "speculative"


class Speculations(Part, frozen=True):
    """The speculative part of a session. `ideas_per_claim` counts the hypotheses about each claim."""

    ideas: Growing[SpeculativeHypothesis | SpeculativeClaim] = msgspec.field(
        default=EMPTY, name="speculative"
    )
    ideas_per_claim: Growing[int] = msgspec.field(default=EMPTY, name="speculated")
