"""Who does what to whom, and what comes first: the order of an answer's words without the grammar around it.

`b was hit by a` is read as `a hit b`, `before b, a` as `a before b`, `a after b` as `b before a`,
`a because b` as `b cause a`, and `a's b` as `b a`. What is then still the other way round was meant so.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from beliefd.uncertainty.equivalence import negation, words
from beliefd.uncertainty.equivalence.clauses import Item
from beliefd.uncertainty.equivalence.forms import PAST_FORMS
from beliefd.uncertainty.equivalence.kept import kept
from beliefd.uncertainty.equivalence.tables import word_set

_LEADING: Final = word_set("before after because if when since unless until while")
_STARTERS: Final = word_set(
    "the a an he she it they we i you this that no nobody nothing none all every each there his her its"
)
_PARTS: Final = frozenset(
    {",", "and", "but", "or", "then", "before", "cause", "INSTEAD", "if", "when", "while"}
)
_JOINS: Final = frozenset({",", "and", "or"})
_ENDS: Final = frozenset({".", ";"})
_SIDED: Final = frozenset({"than", "before", "cause"})
Order = tuple[tuple[object, bool], ...]
"""Words in their order, each with whether it is the middle of a list."""


@kept
def order(items: tuple[Item, ...], equated: bool = False) -> Order:
    """`equated`: with the two sides of an `is` in one order."""
    found: list[tuple[object, bool]] = []
    seen: set[object] = set()
    has_list = not _JOINS.isdisjoint(items)
    for sentence in _sentences(items):
        turned = _active(_in_time(_fronted(_owned(sentence))))
        turned = _equated(turned) if equated else turned
        for place, item in enumerate(turned):
            key = _key(item)
            if key is not None and key not in seen:
                seen.add(key)
                found.append((key, has_list and _is_listed(turned, place)))
    return tuple(found)


def reversed_in(one: Order, other: Order, renamed: Mapping[object, object]) -> bool:
    """Whether three words stand the other way round: `a hit b` and `b hit a`. The middle is no list's."""
    places = {renamed.get(key, key): place for place, (key, _) in enumerate(other)}
    shared = [(places[key], listed) for key, listed in one if key in places]
    if len(shared) < 3:
        return False
    least = [0] * len(shared)
    lowest = len(other)
    for at in range(len(shared) - 1, -1, -1):
        least[at] = lowest
        lowest = min(lowest, shared[at][0])
    highest = -1
    for at, (place, listed) in enumerate(shared):
        if highest > place > least[at] and not listed:
            return True
        highest = max(highest, place)
    return False


def inverted(one: Order, other: Order) -> bool:
    """Whether any two words have changed places."""
    places = {key: place for place, (key, _) in enumerate(other)}
    shared = [places[key] for key, _ in one if key in places]
    return shared != sorted(shared)


@kept
def _key(item: Item) -> object | None:
    if isinstance(item, tuple):
        return item
    if item in words.WHO:
        return words.WHO[item]
    if item in words.PIVOTS:
        return item.upper()
    if item in words.RELATIONS:
        return words.stem(item)
    if (
        item in words.STOP
        or item in _JOINS
        or item in negation.FREE
        or item in negation.WHOLE
        or item == "'s"
    ):
        return None
    return words.stem(negation.positive(item) or item)


def _is_listed(items: Sequence[Item], place: int) -> bool:
    return _is_join(items, place - 1, place - 2) and _is_join(items, place + 1, place + 2)


def _is_join(items: Sequence[Item], near: int, next_to_it: int) -> bool:
    """Behind an article, what is next to it counts; beyond either end there is a join."""
    for at in (near, next_to_it):
        if not 0 <= at < len(items):
            return True
        if items[at] not in words.ARTICLES:
            return items[at] in _JOINS
    return True


def _sentences(items: Iterable[Item]) -> list[list[Item]]:
    found: list[list[Item]] = [[]]
    for item in items:
        if item in _ENDS:
            found.append([])
        else:
            found[-1].append(item)
    return [part for part in found if part]


def _owned(items: list[Item]) -> list[Item]:
    """`France's capital` as `capital France`."""
    if "'s" not in items:
        return items
    found = list(items)
    for place, item in enumerate(found[:-1]):
        if item == "'s" and place:
            found[place - 1], found[place + 1] = found[place + 1], found[place - 1]
    return found


def _fronted(items: list[Item]) -> list[Item]:
    """`before b, a` as `a before b`. Without a comma the next article or pronoun begins the main clause."""
    if not items or items[0] not in _LEADING:
        return items
    if "," in items:
        at = items.index(",")
        return [*items[at + 1 :], *items[:at]]
    for at in range(2, len(items)):
        if items[at] in _STARTERS:
            return [*items[at:], *items[:at]]
    return items


def _in_time(items: list[Item]) -> list[Item]:
    for word, instead in (("after", "before"), ("because", "cause")):
        if word in items and word in items[1:]:
            at = items.index(word, 1)
            return [*items[at + 1 :], instead, *items[:at]]
    return items


def _equated(items: list[Item]) -> list[Item]:
    """`a is b` and `b is a` in one order, where no word between them says which is which."""
    at = next((place for place, item in enumerate(items) if item in words.BE), None)
    if (
        at is None
        or at + 2 > len(items)
        or not _SIDED.isdisjoint(item for item in items if isinstance(item, str))
    ):
        return items
    then = items[at + 1]
    if then not in words.ARTICLES and not (isinstance(then, str) and _is_noun(then)):
        return items
    left, right = items[:at], items[at + 1 :]
    first = [
        next((str(key) for item in side if (key := _key(item)) is not None), "") for side in (left, right)
    ]
    return [*left, items[at], *right] if first[0] <= first[1] else [*right, items[at], *left]


def _is_noun(word: str) -> bool:
    """Rough: what is neither a participle nor a small word."""
    return not (
        word in words.STOP
        or word in PAST_FORMS
        or word in negation.FREE
        or word.endswith(("ed", "ing", "en"))
    )


def _active(items: list[Item]) -> list[Item]:
    """`x is reduced by y` in the order of `y reduces x`, in each part of a sentence."""
    if words.BE.isdisjoint(items) and "by" not in items:
        return items
    found: list[Item] = []
    start = 0
    for place in range(len(items) + 1):
        if place == len(items) or (items[place] in _PARTS and not _lists(items[start:place], items[place])):
            found += _active_part(items[start:place])
            found += items[place : place + 1]
            start = place + 1
    return found


def _lists(part: list[Item], join: Item) -> bool:
    """`Salt` in `salt and pepper were added`: a member of a list, and no part of a sentence."""
    return join in _JOINS and len([item for item in part if item not in words.ARTICLES]) == 1


def _active_part(items: list[Item]) -> list[Item]:
    at = items.index("by") if "by" in items else len(items)
    be = next((place for place in range(min(at, len(items)) - 1, -1, -1) if items[place] in words.BE), None)
    if at == len(items):
        return items if be is None else _without_agent(items, be)
    if at + 1 >= len(items) or isinstance(items[at + 1], tuple) or at == 0:
        return items
    if be is not None:
        return [*items[at + 1 :], *items[be + 1 : at], *items[:be]]
    if _is_participle(items[at - 1]):
        return [*items[at + 1 :], items[at - 1], *items[: at - 1]]
    return items


def _without_agent(items: list[Item], be: int) -> list[Item]:
    """`pets are not allowed in hotels` as `allowed pets in hotels`."""
    verb = next((at for at in range(be + 1, min(be + 3, len(items))) if _is_participle(items[at])), None)
    return items if verb is None else [items[verb], *items[:be], *items[be + 1 : verb], *items[verb + 1 :]]


def _is_participle(item: Item) -> bool:
    return isinstance(item, str) and (item.endswith(("ed", "en")) or item in PAST_FORMS)
