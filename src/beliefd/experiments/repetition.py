"""Which replicates of a run are drawn twice, where code that is not ours drew them.

Pieces are cut where blocks are not, and come from the last to the first: whatever a replicate might have been
left by those before it is not there the second time. Each piece has an interpreter of its own.
"""

from typing import Final

from beliefd.experiments.plan import Arm
from beliefd.experiments.rng import uniforms

SAMPLE: Final = 256
ARM: Final = 1 << 20
"""Names the stream of the number that chooses. Arms of templates have small ones."""


def repeated(arm: Arm, used: int, seed: int) -> list[tuple[int, int]]:
    """First replicate and count of each piece: the whole first block, and a later stretch by the seed."""
    first = min(arm.blocks()[0][1], used)
    half = (first + 1) // 2
    pieces = [(0, half), (half, first - half)]
    if used > first:
        count = min(SAMPLE, used - first)
        chosen = float(uniforms(seed, ARM, 0, 1, 1)[0, 0])
        pieces.append((first + int(chosen * (used - first - count + 1)), count))
    return [piece for piece in reversed(pieces) if piece[1]]
