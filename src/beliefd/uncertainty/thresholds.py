"""Thresholds with a guarantee: Learn then Test (Angelopoulos, Bates, Candes, Jordan, Lei, 2021).

Of the answers whose uncertainty is at most the threshold, no more than a share `risk` is wrong, with
confidence 1 - delta over the draw of the labelled answers. If none can be shown to do that, there is none.
"""

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from beliefd.kernel.errors import invalid

GRID: Final = tuple(step / 20 for step in range(21))
STARTS: Final = (0.0, 0.2, 0.4, 0.6, 0.8)
"""Where the walks over the grid set out. Fixed before any data is seen, or the guarantee would not hold."""


class Threshold(Struct, frozen=True, kw_only=True):
    """`value` None: no threshold certifies this."""

    value: float | None
    risk: float
    delta: float
    accepted: int
    wrong: int
    count: int

    @property
    def coverage(self) -> float:
        return self.accepted / self.count

    def __str__(self) -> str:
        promise = f"at most {self.risk:.3g} wrong with confidence {1 - self.delta:.3g}"
        if self.value is None:
            return f"no threshold certifies this: {promise}, from {self.count} labelled answers"
        seen = f"{self.wrong} of {self.accepted} accepted were wrong, {self.coverage:.0%} accepted"
        return f"accept up to {self.value:.2f}: {promise} ({seen})"


def learn_then_test(
    uncertainties: Sequence[float], wrong: Sequence[bool], risk: float, delta: float = 0.1
) -> Threshold:
    """The largest threshold on the grid that is certified.

    INVARIANT: each of the walks tests in a fixed order, at delta / number of walks, until it first fails; so
    the chance that any false threshold is certified is delta at most.
    """
    if len(uncertainties) != len(wrong):
        raise invalid(f"{len(uncertainties)} uncertainties, but {len(wrong)} labels", "$")
    if not uncertainties:
        raise invalid("no labelled answers", "$")
    if not 0 < risk < 1 or not 0 < delta < 1:
        raise invalid("`risk` and `delta` are between 0 and 1", "$")
    found: float | None = None
    for start in STARTS:
        for step in GRID[GRID.index(start) :]:
            accepted, errors = _counts(uncertainties, wrong, step)
            if binomial_tail(errors, accepted, risk) > delta / len(STARTS):
                break
            found = step if found is None else max(found, step)
    accepted, errors = (0, 0) if found is None else _counts(uncertainties, wrong, found)
    return Threshold(
        value=found, risk=risk, delta=delta, accepted=accepted, wrong=errors, count=len(uncertainties)
    )


def binomial_tail(errors: int, count: int, risk: float) -> float:
    """The chance of so few errors among `count` if the true risk were `risk`."""
    if errors >= count:
        return 1.0
    total = math.lgamma(count + 1)
    return min(1.0, math.fsum(
        math.exp(
            total - math.lgamma(k + 1) - math.lgamma(count - k + 1)
            + k * math.log(risk) + (count - k) * math.log1p(-risk)
        )
        for k in range(errors + 1)
    ))  # fmt: skip


def _counts(uncertainties: Sequence[float], wrong: Sequence[bool], limit: float) -> tuple[int, int]:
    accepted = [bad for value, bad in zip(uncertainties, wrong, strict=True) if value <= limit + 1e-12]
    return len(accepted), sum(accepted)
