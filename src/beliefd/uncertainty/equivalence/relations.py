"""What small words settle between two things: by or to a number, one or several, before or after, whose who.

The words of two answers are the same, and yet one says what the other denies.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from beliefd.uncertainty.equivalence import negation, words
from beliefd.uncertainty.equivalence.clauses import Item
from beliefd.uncertainty.equivalence.quantities import Quantity
from beliefd.uncertainty.equivalence.reading import Reading
from beliefd.uncertainty.equivalence.tables import word_set

Words = frozenset[Item]
Sides = tuple[str, bool, Words, Words]
"""`before` or `after`, whether it is denied, and the words on either side of it."""
Ownership = tuple[Words, Words, Words]
"""Who is it, whose is it, and what: `Mary is Tom's manager`."""

ALIKE: Final = 0.5
"""From this share of common words on two sides are about one thing."""
ONE: Final[Quantity] = ("", 1.0)
_SEVERAL: Final = word_set(
    "several many numerous various countless plenty lots dozens scores hundreds thousands millions"
)
_CHANGES: Final = word_set(
    "rise rises rose risen fall falls fell fallen climb climbs climbed drop drops dropped grow grows grew "
    "grown shrink shrinks shrank increase increases increased decrease decreases decreased jump jumps jumped "
    "sink sinks sank raise raised reduce reduced lower lowered cut cuts gain gained decline declined extend "
    "extended growth reduction up down"
)
"""Where a number stands right behind them, they say by how much."""
_TURNS: Final = frozenset({"before", "after"})
_IS: Final = words.BE | word_set("become becomes became remain remains remained")
_BREAKS: Final = frozenset({".", ",", ";", "and", "or", "but"})
_MUTUAL: Final = words.SYMMETRIC | word_set(
    "twin cousin sibling brother sister colleague coworker neighbour neighbor friend partner spouse rival "
    "competitor counterpart peer ally enemy opponent roommate classmate teammate relative namesake "
    "equivalent opposite inverse complement synonym mirror contemporary"
)
"""Whose that is whom one is oneself: Tim is Tom's twin, and Tom is Tim's."""


def settled_otherwise(one: Reading, other: Reading) -> bool:
    return (
        _changed_otherwise(one, other)
        or _counted_otherwise(one, other)
        or _counted_otherwise(other, one)
        or _timed_otherwise(one, other)
        or _owned_otherwise(one, other)
        or _owners_changed_places(one, other)
    )


def _changed_otherwise(one: Reading, other: Reading) -> bool:
    """What rose by 3 has not risen to 3."""
    if one.amounts.isdisjoint(other.amounts):
        return False
    by, to = _by_and_to(one.items)
    their_by, their_to = _by_and_to(other.items)
    return bool((by - to) & (their_to - their_by) or (to - by) & (their_by - their_to))


def _by_and_to(items: Sequence[Item]) -> tuple[set[Quantity], set[Quantity]]:
    by: set[Quantity] = set()
    to: set[Quantity] = set()
    for place, item in enumerate(items):
        before = items[place - 1] if isinstance(item, tuple) and place else None
        if before == "to":
            to.add(item)  # type: ignore[arg-type]
        elif before == "by" or before in _CHANGES or (before == "of" and items[place - 2] in _CHANGES):
            by.add(item)  # type: ignore[arg-type]
    return by, to


def _counted_otherwise(one: Reading, other: Reading) -> bool:
    """Several are not a single one, where both are about the same."""
    if ONE not in other.amounts or ONE in one.amounts or "first" in other.particles:
        return False
    if not _is_several(one.items) or _is_several(other.items):
        return False
    return _overlap(one.content - _STEMS, other.content - _STEMS)


_STEMS: Final = frozenset(map(words.stem, _SEVERAL))


def _is_several(items: Sequence[Item]) -> bool:
    if not _SEVERAL.isdisjoint(items):
        return True
    at = items.index("some") + 1 if "some" in items else len(items)
    return at < len(items) and str(items[at]).endswith("s")


def _timed_otherwise(one: Reading, other: Reading) -> bool:
    """The day before it is not the day after it, unless only one of them is denied."""
    mine, theirs = _sides(one), _sides(other)
    if mine is None or theirs is None or mine[0] == theirs[0] or mine[1] != theirs[1]:
        return False
    return _overlap(mine[2], theirs[2]) and _overlap(mine[3], theirs[3])


def _sides(reading: Reading) -> Sides | None:
    """Also where it is said first: `the day before the launch, it leaked`."""
    said = [item for item in reading.items if item not in words.ARTICLES and item != "."]
    found = [place for place, item in enumerate(said) if item in _TURNS]
    if len(found) != 1:
        return None
    at = found[0]
    comma = said.index(",", at) if "," in said[at:] else len(said)
    left, right = frozenset(said[:at] + said[comma + 1 :]), frozenset(said[at + 1 : comma])
    return str(said[at]), any(clause.denied for clause in reading.clauses), left, right


def _owned_otherwise(one: Reading, other: Reading) -> bool:
    """Mary is Tom's manager, Tom is Mary's manager."""
    mine, theirs = _owned(one.items), _owned(other.items)
    if mine is None or theirs is None:
        return False
    who, whose, what = mine
    return who != whose and theirs == (whose, who, what) and what.isdisjoint(_MUTUAL)


def _owners_changed_places(one: Reading, other: Reading) -> bool:
    """Tom's sister met Ann, Ann's sister met Tom."""
    if one.content != other.content or not _IS.isdisjoint(one.items) or not _IS.isdisjoint(other.items):
        return False
    mine, theirs = _owners(one.items), _owners(other.items)
    return bool(mine and theirs) and mine.isdisjoint(theirs)


def _owners(items: Sequence[Item]) -> Words:
    return frozenset(who for who, then in pairwise(items) if then == "'s")


def _owned(items: Sequence[Item]) -> Ownership | None:
    """Who is whose what, in one of four orders: a is b's c, b's c is a, a is the c of b, the c of b is a."""
    end = next((place for place, item in enumerate(items) if item in _BREAKS), len(items))
    at = next((place for place, item in enumerate(items[:end]) if item in _IS), None)
    if at is None or not negation.WHOLE.isdisjoint(items[:end]) or not negation.FREE.isdisjoint(items[:end]):
        return None
    for who, side in ((items[:at], items[at + 1 : end]), (items[at + 1 : end], items[:at])):
        if (found := _whose(side)) is not None and _whose(who) is None:
            return _bare(who), *found
    return None


def _whose(side: Sequence[Item]) -> tuple[Words, Words] | None:
    for joint in ("'s", "of"):
        if joint in side:
            at = side.index(joint)
            first, then = _bare(side[:at]), _bare(side[at + 1 :])
            return (first, then) if joint == "'s" else (then, first)
    return None


def _bare(items: Sequence[Item]) -> Words:
    return frozenset(item for item in items if item not in words.ARTICLES)


def _overlap(one: frozenset[Item] | frozenset[str], other: frozenset[Item] | frozenset[str]) -> bool:
    return len(one & other) >= ALIKE * max(len(one), len(other))
