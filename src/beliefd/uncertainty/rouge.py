"""ROUGE-L: the longest common subsequence of two answers' words, as an F1 (Lin, 2004)."""

import re
from collections.abc import Sequence

_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def rouge_l(a: Sequence[str], b: Sequence[str]) -> float:
    """F1 of recall and precision over the longest common subsequence; two empty answers are alike."""
    if not a or not b:
        return 1.0 if len(a) == len(b) else 0.0
    return 2 * _common(a, b) / (len(a) + len(b))


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Hyyrö's bit-parallel length: one word of the longer answer a step, all of the shorter at once."""
    places: dict[str, int] = {}
    for at, word in enumerate(a):
        places[word] = places.get(word, 0) | 1 << at
    full = (1 << len(a)) - 1
    row = full
    for word in b:
        matched = row & places.get(word, 0)
        row = ((row + matched) | (row - matched)) & full
    return len(a) - row.bit_count()
