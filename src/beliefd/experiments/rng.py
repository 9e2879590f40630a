"""Random numbers by address: replicate `i` of an arm has the same ones wherever it is drawn.

Philox is a function of a key and a counter. The key comes from the spec's seed and the arm, the counter from
the number of the replicate. So any replicate can be drawn again alone, bit for bit, and how replicates are
cut into blocks changes nothing. Every replicate takes a fixed count of words, hence no rejection sampling.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.random import Philox, SeedSequence
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
WORDS_A_STEP: Final = 4
CHUNK: Final = 1 << 17
"""Numbers that are drawn at once: few enough to stay in the cache."""


def words(seed: int, arm: int, start: int, count: int) -> NDArray[np.uint64]:
    """`count` 64-bit words of an arm's stream, from the word at `start` on."""
    key = SeedSequence(seed, spawn_key=(arm,)).generate_state(2, np.uint64)
    step, skipped = divmod(start, WORDS_A_STEP)
    return Philox(key=key, counter=step).random_raw(skipped + count)[skipped:]


def uniforms(seed: int, arm: int, first: int, count: int, width: int) -> Floats:
    """A row of `width` numbers for each replicate, each strictly between 0 and 1 and symmetric about 1/2."""
    drawn = words(seed, arm, first * width, count * width)
    return ((drawn >> np.uint64(12)).astype(np.float64) + 0.5).reshape(count, width) * 2.0**-52


def indices(seed: int, arm: int, first: int, count: int, width: int, bound: int) -> Ints:
    """A row of `width` whole numbers below `bound` for each replicate; two come out of each word.

    The upper half of a product replaces rejection: the chance of any number is off by less than bound / 2^32.
    """
    per_row = (width + 1) // 2
    drawn = words(seed, arm, first * per_row, count * per_row).astype("<u8", copy=False)
    halves = drawn.view("<u4").reshape(count, 2 * per_row)[:, :width]
    return ((halves * np.uint64(bound)) >> np.uint64(32)).view(np.int64)


def chunks(first: int, count: int, width: int) -> Iterator[tuple[int, int]]:
    """The same replicates, a few at a time."""
    size = max(1, CHUNK // max(1, width))
    for start in range(first, first + count, size):
        yield start, min(size, first + count - start)
