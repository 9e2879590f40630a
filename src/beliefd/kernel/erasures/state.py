"""What a session knows of texts that were taken away."""

from beliefd.kernel.parts import EMPTY, Growing, Part


class Erasures(Part, frozen=True):
    """By digest, the event that erased it."""

    erased: Growing[str] = EMPTY
