"""What the panel found. Nothing here needs a library, so that it can be drawn without any."""

import math

from msgspec import Struct

from beliefd.kernel.experiments.plan import TemplateName

CLAIMED, TRUE = 0.95, 0.99
"""The share that a test with a look after every replicate is asked for, and the one that is true."""


class Cell(Struct, frozen=True):
    """How many of so many experiments supported a claim: a false one, or one that is true by a distance."""

    template: TemplateName
    n: int
    family: str
    side: str
    experiments: int
    supported: int
    distance: float = 0.0

    @property
    def rate(self) -> float:
        return self.supported / self.experiments

    def too_many(self, alpha: float) -> bool:
        """More than alpha by more than three standard errors of the simulation."""
        return self.distance == 0 and self.rate > limit(alpha, self.experiments)


def limit(alpha: float, experiments: int) -> float:
    return alpha + 3 * math.sqrt(alpha * (1 - alpha) / experiments)


class Sequence(Struct, frozen=True):
    """A share of draws that is claimed: runs in which it is just not exceeded, and runs in which it is."""

    runs: int
    false_supports: int
    supports: int
    mean_decided_after: float
    fixed_sample: int

    def too_many(self, alpha: float) -> bool:
        return self.false_supports / self.runs > limit(alpha, self.runs)


class Line(Struct, frozen=True):
    """A template at one size: its worst cell, and how often it supports what is true."""

    template: TemplateName
    n: int
    false_support: float
    worst: str
    too_many: int
    power: tuple[float, ...]


class Panel(Struct, frozen=True):
    """The table, and what of it is not as promised."""

    alpha: float
    limit: float
    experiments: int
    seed: int
    families: int
    distances: tuple[float, ...]
    lines: tuple[Line, ...]
    exceeded: tuple[Cell, ...]
    """Cells with more false support than alpha, by more than chance explains."""
    sequence: Sequence | None

    @property
    def holds(self) -> bool:
        return not self.exceeded and (self.sequence is None or not self.sequence.too_many(self.alpha))
