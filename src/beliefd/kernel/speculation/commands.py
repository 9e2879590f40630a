"""What can be asked of the speculative lane."""

from typing import Annotated

import msgspec

from beliefd.kernel.speculation.state import Alternative
from beliefd.kernel.values import Id, Value


class Speculate(Value, frozen=True, tag_field="verb", tag="SPECULATE"):
    """Note alternatives to a claim, in the lane where nothing counts."""

    claim_id: Id
    hypotheses: Annotated[tuple[Alternative, ...], msgspec.Meta(min_length=1, max_length=100)]


SpeculationCommand = Speculate
