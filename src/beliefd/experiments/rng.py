"""Random numbers by address: replicate `i` of an arm has the same ones wherever it is drawn.

Philox is a function of a key and a counter. The key comes from the spec's seed and the arm, the counter from
the number of the replicate. So any replicate can be drawn again alone, bit for bit, and how replicates are
cut into blocks changes nothing. Every replicate takes a fixed count of words, hence no rejection sampling.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.random import Generator, Philox, SeedSequence
from numpy.typing import NDArray

from beliefd.experiments.plan import Floats

Ints = NDArray[np.int64]
WORDS_PER_STEP: Final = 4
CHUNK: Final = 1 << 15
"""Numbers that are drawn at once: few enough to stay in the cache."""
DROPPED: Final = np.uint64(11)
"""Bits of a word that a float has no room for."""
UNIT: Final = 2.0**-53
STREAMED: Final = 1 << 17
"""The same where little is made of each number: calls are what costs there."""


@lru_cache(256)
def key(seed: int, arm: int) -> NDArray[np.uint64]:
    return np.asarray(SeedSequence(seed, spawn_key=(arm,)).generate_state(2, np.uint64), dtype=np.uint64)


def stream(seed: int, arm: int, start: int) -> tuple[Philox, int]:
    """An arm's stream shortly before its word at `start`, and how many words to skip."""
    step, skipped = divmod(start, WORDS_PER_STEP)
    return Philox(key=key(seed, arm), counter=step), skipped


def uniforms(seed: int, arm: int, first: int, count: int, width: int) -> Floats:
    """A row of `width` numbers below 1 for each replicate, a word each.

    Zero comes once in 2^53 times. Its quantile is not finite, so it makes a replicate that failed.
    """
    bits, skipped = stream(seed, arm, first * width)
    return Generator(bits).random(skipped + count * width)[skipped:].reshape(count, width)


def indices(seed: int, arm: int, first: int, count: int, width: int, bound: int) -> Ints:
    """A row of `width` whole numbers below `bound` for each replicate; two come out of each word.

    The upper half of a product replaces rejection: the chance of any number is off by less than bound / 2^32.
    """
    per_row = (width + 1) // 2
    bits, skipped = stream(seed, arm, first * per_row)
    drawn = bits.random_raw(skipped + count * per_row)[skipped:]
    halves = drawn.astype("<u8", copy=False).view("<u4").reshape(count, 2 * per_row)[:, :width]
    return ((halves * np.uint64(bound)) >> np.uint64(32)).view(np.int64)


def streamed(seed: int, arm: int, first: int, count: int, width: int) -> Iterator[tuple[int, Floats]]:
    """The columns of `uniforms`, a few rows at a time, and the first row's number. The next take their place.

    Numbers are made of raw words as `random` makes them: this is faster, and each column lies in one piece.
    """
    bits, skipped = stream(seed, arm, first * width)
    bits.random_raw(skipped)
    size = max(1, STREAMED // width)
    buffer = np.empty((width, min(count, size)))
    for start in range(first, first + count, size):
        columns = buffer[:, : min(size, first + count - start)]
        words = bits.random_raw(columns.size)
        np.right_shift(words, DROPPED, out=words)
        # Of 53 bits the sign is never set, and signed integers are converted faster.
        whole = words.view(np.int64).reshape(-1, width)
        for place, column in enumerate(columns):
            column[:] = whole[:, place]
            np.multiply(column, UNIT, out=column)
        yield start, columns


def chunks(first: int, count: int, width: int) -> Iterator[tuple[int, int]]:
    """The same replicates, a few at a time."""
    size = max(1, CHUNK // max(1, width))
    for start in range(first, first + count, size):
        yield start, min(size, first + count - start)
