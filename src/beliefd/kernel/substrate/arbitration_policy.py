"""By which rules constraints are read and answers worded; ledgers say by which they were."""

from typing import Annotated, Final, Literal

import msgspec

from beliefd.kernel.values import Value

VERSION: Final = 2
"""The newest version of constraints. Each knows all that those before it know."""
STEPS: Final = 10_000
"""So often a pattern with look-around or a back-reference may try again on one text. Where that is not
enough, the text fits neither the pattern nor its opposite. All other patterns take linear time, and no steps.
"""
EARLIER_STEPS: Final = None
"""What ledgers were decided with before: as many as the engine allows, a million."""


class ArbitrationPolicy(Value, frozen=True):
    """How constraints are read, and what an answer is called.

    `constraints` is the newest version that is read: under 1, those of version 2 are malformed, and deny.
    With `reasons: effect`, the reason code of what a person is asked about is `ASK`, of what is put off
    `DEFER`; with `failure` it is that of the first reason. With `failures: all`, whatever stands in the way
    counts: that nothing allows it, and broken invariants, too. With `first`, a constraint that fails hides
    both: what nothing allows may wait for a person, and invariants are looked at only if nothing else fails.
    """

    constraints: Annotated[int, msgspec.Meta(ge=1, le=VERSION)] = VERSION
    reasons: Literal["effect", "failure"] = "effect"
    failures: Literal["all", "first"] = "all"

    @property
    def steps(self) -> int | None:
        """How often a pattern inside a schema may try again."""
        return EARLIER_STEPS if self.constraints == 1 else STEPS

    @property
    def by_effect(self) -> bool:
        return self.reasons == "effect"

    @property
    def counts_all(self) -> bool:
        return self.failures == "all"
