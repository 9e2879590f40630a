"""What a detector found in a bundle: a fact handed to the adversarial gate, recorded with the decision."""

from typing import Annotated

import msgspec

from beliefd.kernel.values import Value


class Signal(Value, frozen=True):
    """One thing that looked hostile: what kind, how much it weighs, where it stood, and what it said."""

    kind: str
    weight: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
    path: str
    excerpt: str


class Threat(Value, frozen=True):
    """A detector's verdict. `failed` says why there is none; the gate then defers."""

    detector: str
    score: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.0
    signals: tuple[Signal, ...] = ()
    failed: str | None = None
