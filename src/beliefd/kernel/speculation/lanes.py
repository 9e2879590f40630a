"""Two lanes, and the labels that keep them apart.

A label is set by how an artifact came to be, never by what its author wrote. What is derived from several
things gets the join of their labels, and nothing is ever relabelled.
"""

from collections.abc import Iterable
from typing import Final, Literal

Lane = Literal["speculative", "grounded"]
SPECULATIVE: Final[Lane] = "speculative"
GROUNDED: Final[Lane] = "grounded"


def join(labels: Iterable[Lane]) -> Lane:
    """One speculative input is enough: speculation is contagious, certainty is not."""
    return SPECULATIVE if SPECULATIVE in labels else GROUNDED
