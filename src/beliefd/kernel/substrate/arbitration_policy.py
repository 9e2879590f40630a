"""By which rules constraints are read and answers worded; ledgers say by which they were."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Struct

from beliefd.kernel.values import Value

VERSION: Final = 2
"""The newest version of constraints. Each knows all that those before it know."""
STEPS: Final = 10_000
"""So often a pattern with look-around or a back-reference may try again on one text. Where that is not
enough, the text fits neither the pattern nor its opposite. All other patterns take linear time, and no steps.
"""
SCHEDULING: Final = 2
"""The newest rules of modes, shares and interrupts."""
EARLIER_STEPS: Final = None
"""What ledgers were decided with before: as many as the engine allows, a million."""
MEANING: Final = 3
"""The newest version of what values, budgets of derived facts and episodes mean."""


class Engine(Struct, frozen=True):
    """How patterns are compiled: how often those with look-around may try again, and whether their size and
    the texts that they are held against are bounded."""

    steps: int | None = STEPS
    bounded: bool = True


NEWEST_ENGINE: Final = Engine()


class ArbitrationPolicy(Value, frozen=True):
    """How constraints are read, and what an answer is called.

    `constraints` is the newest version that is read: under 1, those of version 2 are malformed, and deny.
    With `reasons: effect`, the reason code of what a person is asked about is `ASK`, of what is put off
    `DEFER`; with `failure` it is that of the first reason. `patterns: linear` is for ledgers from before
    patterns and their texts were bounded, and does not come into force any more. With `failures: all`,
    whatever stands in the way counts: that nothing allows it, and broken invariants, too. With `first`, a
    constraint that fails hides both: what nothing allows may wait for a person, and invariants are looked at
    only if nothing else fails.

    Under `scheduling: 1`, a mode that an event records recovers from that event on, shares of budgets are
    taken in floating point, and programs resume and use up each other's interrupts.

    `meaning` is the version of what else is read. From 2 on, a path that can be read in two ways is refused,
    times are read as RFC 3339 writes them, what rules copy leaves room for what they say outright, and what a
    program interrupts and resumes is one episode. From 3 on, facts that are derived anew keep invariants,
    every call says where it comes from, and every lowered mode at whose word. The next change raises it: no
    seventh member comes.
    """

    constraints: Annotated[int, msgspec.Meta(ge=1, le=VERSION)] = VERSION
    reasons: Literal["effect", "failure"] = "effect"
    scheduling: Annotated[int, msgspec.Meta(ge=1, le=SCHEDULING)] = SCHEDULING
    meaning: Annotated[int, msgspec.Meta(ge=1, le=MEANING)] = MEANING
    patterns: Literal["bounded", "linear"] = "bounded"
    failures: Literal["all", "first"] = "all"

    @property
    def engine(self) -> Engine:
        """How patterns are compiled."""
        return Engine(EARLIER_STEPS if self.constraints == 1 else STEPS, self.patterns == "bounded")

    @property
    def strict(self) -> bool:
        """Is all read strictly: paths, times, and room for what rules say?"""
        return self.meaning > 1

    @property
    def whole(self) -> bool:
        """Do invariants hold after every commit, and does every call say where it comes from?"""
        return self.meaning > 2

    @property
    def by_effect(self) -> bool:
        return self.reasons == "effect"

    @property
    def counts_all(self) -> bool:
        return self.failures == "all"
