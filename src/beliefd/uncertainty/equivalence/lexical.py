"""A judge without a model: the same words, in one polarity, with the same numbers, about the same names.

It errs towards "different": two answers that it merges say the same thing in nearly the same words, two that
it keeps apart may still be paraphrases.
"""

from collections.abc import Sequence
from typing import Final

from beliefd.uncertainty.equivalence import words
from beliefd.uncertainty.equivalence.contradiction import Opposites, contradicts, counts
from beliefd.uncertainty.equivalence.markers import QUIET
from beliefd.uncertainty.equivalence.order import order
from beliefd.uncertainty.equivalence.port import Pair
from beliefd.uncertainty.equivalence.reading import SHORT, Reading, read

COVERAGE: Final = 0.8
"""So much of a sentence's content another must have to say the same: two causes of one outage share a lot."""


class LexicalJudge:
    """Deterministic, free, and honest about what it is."""

    name = "lexical"
    batch = 1

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        return [entails(a, b) for a, b in pairs]


def entails(a: str, b: str) -> bool:
    """Whether an answer that says `a` also says `b`."""
    one, other = read(a), read(b)
    if one.plain == other.plain:
        return True
    if contradicts(a, b):
        return False
    # INVARIANT: what b counts, a must count too; a number is never a detail.
    if not other.amounts <= counts(one, other):
        return False
    if _counts_alone(one, other) or _counts_alone(other, one):
        return True
    if not one.content or not other.content:
        return not one.content and not other.content and _small(one) == _small(other) != _small(_SILENCE)
    return _says(one, other)


def _counts_alone(one: Reading, other: Reading) -> bool:
    """`14:02` is what `it started at 14:02` says, if nothing else is counted there, denied or in doubt."""
    return not one.content and bool(one.amounts) and _small(one) == _small(other)


def _small(reading: Reading) -> tuple[object, ...]:
    """What an answer without content words says: it may be, no, never, five."""
    marks = frozenset(mark for clause in reading.clauses for mark in clause.marks) - QUIET
    return reading.stance, reading.amounts, marks, any(clause.denied for clause in reading.clauses)


_SILENCE: Final = Reading("")


def agreement(a: str, b: str) -> float:
    """How much of the shorter answer the longer one has, from 0 to 1; 0 where they contradict each other.

    Graded, so that answers of different length can be compared: `Paris` is all in `it is Paris`.
    """
    one, other = read(a), read(b)
    if one.plain == other.plain:
        return 1.0
    if contradicts(a, b) or _other_names(one, other):
        return 0.0
    size = min(len(one.content) + len(one.amounts), len(other.content) + len(other.amounts))
    if not size:
        return float(one.stance is not None and one.stance == other.stance)
    shared = len(one.content & other.content) + len(one.amounts & other.amounts)
    return shared / size


def clash(a: str, b: str) -> bool:
    """Whether words alone keep two answers apart: a contradiction, or two bare answers with other words."""
    one, other = read(a), read(b)
    if contradicts(a, b) or _lists_more(one, other) or _lists_more(other, one):
        return True
    return (_is_bare(one) or _is_bare(other)) and _other_names(one, other)


def _other_names(one: Reading, other: Reading) -> bool:
    return bool(one.names - other.content and other.names - one.content)


def _is_bare(reading: Reading) -> bool:
    """A name or a word and no sentence: every word of it counts."""
    return not reading.is_sentence and (len(reading.content) < 3 or reading.content <= reading.proper)


def _lists_more(one: Reading, other: Reading) -> bool:
    """`Alice and Bob signed` says more than `Alice signed`."""
    if not other.content < one.content or "and" in other.items or "or" in other.items:
        return False
    more = one.content - other.content
    for place, item in enumerate(one.items):
        if item in ("and", "or"):
            beside = [words.stem(str(near)) for near in one.items[max(0, place - 2) : place + 3]]
            if not more.isdisjoint(beside) and not other.content.isdisjoint(beside):
                return True
    return False


def _says(one: Reading, other: Reading) -> bool:
    if other.content <= one.content:
        return True
    renamed = Opposites(one, other).renamed
    theirs = frozenset(str(renamed.get(word, word)) for word in other.content)
    missing = theirs - one.content
    if not missing:
        return True
    if not one.is_sentence and not one.is_list and _is_focus(one.stems, other):
        return True
    if len(one.content) <= SHORT and not one.is_sentence:
        return False
    # A word in the place of another is no detail: both answers have one that the other lacks.
    if _lists_more(other, one) or missing & other.names or one.content - theirs:
        return False
    return len(one.content & theirs) / len(theirs) >= COVERAGE


def _holds(stems: tuple[str, ...], bare: tuple[str, ...]) -> bool:
    return any(stems[at : at + len(bare)] == bare for at in range(len(stems)))


def _is_focus(bare: tuple[str, ...], other: Reading) -> bool:
    """A bare answer inside a sentence that repeats the question, or a name inside the same name in full."""
    if other.is_list:
        return False
    if other.is_sentence:
        active = tuple(str(word) for word, _ in order(other.items) if word in other.content)
        return _holds(other.stems, bare) or _holds(active, bare)
    longer = other.stems
    return (
        len(longer) <= SHORT
        and longer[-len(bare) :] == bare
        and words.QUALIFIERS.isdisjoint(longer[: -len(bare)])
        and not other.amounts
    )
