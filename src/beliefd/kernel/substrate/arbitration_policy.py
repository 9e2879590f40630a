"""By which rules constraints are read and answers worded; ledgers say by which they were."""

from typing import Annotated, Literal

import msgspec

from beliefd.kernel.substrate.predicates import VERSION
from beliefd.kernel.substrate.schemas import EARLIER_STEPS, STEPS
from beliefd.kernel.values import Value


class ArbitrationPolicy(Value, frozen=True):
    """How constraints are read, and what an answer is called.

    `constraints` is the newest version that is read: under 1, those of version 2 are malformed, and deny. With
    `reasons: effect`, the reason code of what a person is asked about is `ASK`, of what is put off `DEFER`;
    with `failure` it is that of the first reason.
    """

    constraints: Annotated[int, msgspec.Meta(ge=1, le=VERSION)] = VERSION
    reasons: Literal["effect", "failure"] = "effect"

    @property
    def steps(self) -> int | None:
        """How often a pattern inside a schema may try again."""
        return EARLIER_STEPS if self.constraints == 1 else STEPS

    @property
    def by_effect(self) -> bool:
        return self.reasons == "effect"
