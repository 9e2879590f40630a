"""Whether two answers contradict each other. Every judge asks this first: no similarity outweighs it.

The check is symmetric and reads each answer once. It knows polarity, opposites, quantities, quantifiers,
modality, tense, names and who does what to whom. What it lets pass may still differ; that is for the judge.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from beliefd.uncertainty.equivalence import antonyms, negation, words
from beliefd.uncertainty.equivalence.clauses import Clause
from beliefd.uncertainty.equivalence.forms import PAST_FORMS
from beliefd.uncertainty.equivalence.kept import kept
from beliefd.uncertainty.equivalence.markers import (
    DIRECTIONS,
    DOUBT,
    LINKED_ALIKE,
    LINKS,
    LOOSE,
    MODES,
    PAST,
    QUIET,
)
from beliefd.uncertainty.equivalence.order import inverted, order, reversed_in
from beliefd.uncertainty.equivalence.port import Pair
from beliefd.uncertainty.equivalence.quantities import Quantity
from beliefd.uncertainty.equivalence.reading import Reading, read
from beliefd.uncertainty.equivalence.relations import settled_otherwise

ALIKE: Final = 0.5
"""From this share of common words on two clauses, or two answers, are about one thing."""
SWAPPED: Final = 0.15
"""Up to this share of other words it matters in which order the common ones stand."""
_WEAK: Final = frozenset({"MAY", "POSSIBLE"})
_RELATIVES: Final = frozenset({"who", "which", "that", "whose", "whom", "where"})
_SMALL: Final = {stem: word.upper() for word, stem in words.PARTICLES.items()}
"""How small words stand in an order."""
_NONE: Final[frozenset[str]] = frozenset()
_SOME_OF: Final = frozenset({"SOME", "PART"})
"""`Some alerts` are `some of the alerts`."""
_BY: Final = frozenset({"by"})
_FOR_WHOM: Final = frozenset({"for", "to", "about"})
_DATES: Final = frozenset(words.stem(name) for row in antonyms.EXCLUSIVE[:2] for name in row.split())
"""By Friday and for Friday are one date."""


def contradicts(a: str, b: str) -> bool:
    """INVARIANT: symmetric; each pair is compared once, whichever way it is asked."""
    return _contradicts(a, b) if a < b else _contradicts(b, a)


@kept
def _contradicts(a: str, b: str) -> bool:
    return contradict(read(a), read(b))


def unless_contradicted(pairs: Sequence[Pair], ask: Callable[[list[Pair]], Sequence[bool]]) -> list[bool]:
    """What a judge says of the pairs that no contradiction keeps apart; it is not asked about the others."""
    apart = [contradicts(a, b) for a, b in pairs]
    left = [pair for pair, kept in zip(pairs, apart, strict=True) if not kept]
    said = list(ask(left)) if left else []
    if len(said) != len(left):
        return said  # not an answer for every pair: the bench will say so
    answers = iter(said)
    return [False if kept else next(answers) for kept in apart]


def contradict(one: Reading, other: Reading) -> bool:
    if one.plain == other.plain:
        return False
    if not one.plain or not other.plain or one.is_unread or other.is_unread:
        return True
    if _stances(one, other) or _amounts(one, other) or _entities(one, other):
        return True
    if settled_otherwise(one, other):
        return True
    opposites = Opposites(one, other)
    if opposites.contrary or _polarities(one, other, opposites):
        return True
    close = _alike(one.content, other.content)
    if any(_claims(mine, theirs) or _times(mine, theirs) for mine, theirs in _aligned(one, other, close)):
        return True
    if close and (_links(one, other) or _done(one, other) or _done(other, one)):
        return True
    if _joins(one, other) or _hearsay(one, other) or _hearsay(other, one):
        return True
    return not opposites.converse and (_directions(one, other) or _turned_round(one, other, opposites))


def _stances(one: Reading, other: Reading) -> bool:
    mine, theirs = _stance(one), _stance(other)
    if mine == theirs:
        return False
    bare = not one.content or not other.content
    return bare or (mine is not None and theirs is not None) or "none" in (mine, theirs)


def _stance(reading: Reading) -> str | None:
    if reading.stance is None and not reading.content and not reading.amounts:
        if any(clause.marks & DOUBT for clause in reading.clauses):
            return "maybe"
        if any(clause.denied for clause in reading.clauses):
            return "no"
    return reading.stance


def _amounts(one: Reading, other: Reading) -> bool:
    """INVARIANT: a number is never a detail; it may be left out, but not be another."""
    mine, theirs = counts(one, other), counts(other, one)
    return bool(mine - theirs and theirs - mine)


def counts(one: Reading, other: Reading) -> frozenset[Quantity]:
    """`Both engines` counts two where the other answer counts something."""
    if other.amounts and any("BOTH" in clause.marks for clause in one.clauses):
        return one.amounts | {("", 2.0)}
    return one.amounts


def _entities(one: Reading, other: Reading) -> bool:
    if one.exact - other.content and other.exact - one.content:
        return True
    if _is_longer_name(one, other) or _is_longer_name(other, one):
        return True
    return bool(_strangers(one, other) and _strangers(other, one))


def _is_longer_name(one: Reading, other: Reading) -> bool:
    """`libfoo-dev` is another thing than `libfoo`, and C++ than C."""
    return any(
        name.rpartition("-")[0] in other.content or (name[-1] in "+#" and name.rstrip("+#") in other.content)
        for name in one.exact - other.content
    )


def _strangers(one: Reading, other: Reading) -> bool:
    """Whether a name of one answer is nowhere in the other, not even as its initials."""
    return any(name not in other.initials for name in one.proper - other.content)


class Opposites:
    """Words of one answer whose opposite stands in the other."""

    def __init__(self, one: Reading, other: Reading) -> None:
        mine, theirs = one.content | one.particles, other.content | other.particles
        only_one, only_other = mine - theirs, theirs - mine
        self.renamed: dict[object, object] = {}
        self.converse = self.contrary = False
        for word in only_one if only_other else ():
            if word in words.CONVERSES and self._told_from_the_other_end(one, other, word, only_other):
                continue
            found = words.COMPLEMENTS.get(word, _NONE) & only_other
            twin = next(iter(found)) if found else negation.opposed(word, only_other)
            if twin is not None:
                self.renamed[twin] = word
            elif words.CONTRARIES.get(word, _NONE) & only_other or negation.facing(word, only_other):
                self.contrary = True

    def _told_from_the_other_end(
        self, one: Reading, other: Reading, word: str, only_other: frozenset[str]
    ) -> bool:
        """Ann is taller than Ben, Ben is shorter than Ann: no contradiction."""
        twins = words.CONVERSES[word] & only_other
        renamed: dict[object, object] = dict.fromkeys(twins, word)
        if word in _SMALL:
            renamed |= {_SMALL[twin]: _SMALL[word] for twin in twins if twin in _SMALL}
        if not twins or not reversed_in(order(one.items), order(other.items), renamed):
            return False
        self.converse = True
        self.renamed |= renamed
        return True


def _polarities(one: Reading, other: Reading, opposites: Opposites) -> bool:
    renamed = opposites.renamed
    if not renamed or opposites.converse:
        close = _alike(one.content, other.content)
        return _denied(one.clauses, other.clauses, close) or _denied(other.clauses, one.clauses, close)
    mine, theirs = list(one.clauses), list(other.clauses)
    if any(_same_side(mine, str(word), theirs, str(twin)) for twin, word in renamed.items()):
        return True
    close = _alike(one.content, frozenset(str(renamed.get(word, word)) for word in other.content))
    return _denied(mine, theirs, close) or _denied(theirs, mine, close)


def _same_side(mine: list[Clause], word: str, theirs: list[Clause], twin: str) -> bool:
    """Whether two opposite words are both said or both denied. If one is denied, its denial is used up."""
    at, there = _place(mine, word), _place(theirs, twin)
    if at is None or there is None:
        return False
    denied = mine[at].denied and word in mine[at].behind
    if denied == (theirs[there].denied and twin in theirs[there].behind):
        return True
    if denied:
        mine[at] = Clause(mine[at].content)
    content = theirs[there].content - {twin} | {word}
    theirs[there] = Clause(content, theirs[there].denied and denied, behind=content)
    return False


def _place(clauses: Sequence[Clause], word: str) -> int | None:
    return next((place for place, clause in enumerate(clauses) if word in clause.content), None)


def _denied(one: Sequence[Clause], other: Sequence[Clause], close: bool) -> bool:
    """Whether a clause is denied in one answer and said in the other.

    If the answers are close to each other, also whether it is denied in one and not mentioned in the other.
    """
    for clause in one:
        found = _closest(clause, other)
        if found is None or (clause.content and _shared(clause, found)[0] < ALIKE):
            if clause.denied and close:
                return True
        elif clause.denied != found.denied:
            if _is_meant(clause, found):
                return True
        elif clause.denied and found.targets and clause.targets & found.content - found.behind:
            return True
    return False


def _closest(clause: Clause, others: Sequence[Clause]) -> Clause | None:
    if len(others) < 2:
        return others[0] if others else None
    return max(others, key=lambda their: _shared(clause, their))


def _is_meant(one: Clause, other: Clause) -> bool:
    """A bare answer inside a longer clause is only denied if the denial is about it."""
    small, large = (one, other) if len(one.content) < len(other.content) else (other, one)
    if small.denied or len(small.content) * 2 >= len(large.content):
        return True
    return not small.content.isdisjoint(large.struck)


def _shared(one: Clause, other: Clause) -> tuple[float, int]:
    common = len(one.content & other.content)
    return common / max(1, min(len(one.content), len(other.content))), common


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= ALIKE * max(len(one), len(other))


def _aligned(one: Reading, other: Reading, close: bool) -> Iterator[tuple[Clause, Clause]]:
    """What is to be compared: answers as a whole if they are close, else clauses that are."""
    if close:
        yield _whole(one), _whole(other)
        return
    for clause in one.clauses:
        for their in other.clauses:
            if clause.content and _alike(clause.content, their.content):
                yield clause, their


def _whole(reading: Reading) -> Clause:
    if len(reading.clauses) == 1:
        return reading.clauses[0]
    tenses = {clause.tense for clause in reading.clauses}
    return Clause(
        content=reading.content,
        marks=_NONE.union(*(clause.marks for clause in reading.clauses)),
        tense=next((tense for tense in ("future", "past") if tense in tenses), None),
        ongoing=_NONE.union(*(clause.ongoing for clause in reading.clauses)),
        present=_NONE.union(*(clause.present for clause in reading.clauses)),
        former=_NONE.union(*(clause.former for clause in reading.clauses)),
    )


def _claims(one: Clause, other: Clause) -> bool:
    """How much and how sure."""
    if one.marks == other.marks:
        return False
    mine, theirs = (one.marks - other.marks) - MODES, (other.marks - one.marks) - MODES
    if mine | theirs == _SOME_OF:
        mine = theirs = _NONE
    if (mine and theirs) or (mine | theirs) - QUIET:
        return True
    sure, unsure = (one.marks & MODES) - LOOSE, (other.marks & MODES) - LOOSE
    if sure - _WEAK != unsure - _WEAK:
        return True
    if bool(sure & _WEAK) == bool(unsure & _WEAK):
        return False
    return not (LOOSE & (one.marks if unsure & _WEAK else other.marks))


def _times(one: Clause, other: Clause) -> bool:
    """What will be has not been, and what is still going on is not over."""
    if one.tense != other.tense and {one.tense, other.tense} == {"past", "future"}:
        return True
    if not (one.present.isdisjoint(other.former) and other.present.isdisjoint(one.former)):
        return True
    return _goes_on(one, other) or _goes_on(other, one)


def _goes_on(one: Clause, other: Clause) -> bool:
    return other.tense == "past" and bool(one.ongoing & other.content - other.ongoing)


def _links(one: Reading, other: Reading) -> bool:
    """Whether the clauses hang together in other ways: until and after, if and although."""
    mine, theirs = _linked(one), _linked(other)
    only_one, only_other = mine - theirs, theirs - mine
    if not only_one or not only_other or any(clause.denied for clause in (*one.clauses, *other.clauses)):
        return False
    return not any(frozenset((a, b)) in LINKED_ALIKE for a in only_one for b in only_other)


def _linked(reading: Reading, table: Mapping[str, str] = LINKS) -> frozenset[str]:
    if table.keys().isdisjoint(reading.items):
        return _NONE
    return frozenset([table[item] for item in reading.items if isinstance(item, str) and item in table])


def _directions(one: Reading, other: Reading) -> bool:
    """`Moved to Rome` and `moved from Rome` have the same words."""
    if _alike(one.content, other.content) and (_acts(one, other) or _acts(other, one)):
        return True
    if one.content != other.content:
        return False
    mine, theirs = _linked(one, DIRECTIONS), _linked(other, DIRECTIONS)
    return bool(mine - theirs and theirs - mine)


def _acts(one: Reading, other: Reading) -> bool:
    """`Sent by Carol` and `sent to Carol`: who does it in one answer is whom it is done for in the other."""
    actors = _behind(one, _BY) - _behind(other, _BY) if "by" in one.items else _NONE
    return bool((actors - _DATES) & (_behind(other, _FOR_WHOM) - _behind(one, _FOR_WHOM)))


def _behind(reading: Reading, small: frozenset[str]) -> frozenset[str]:
    """The stems right behind these small words, articles aside."""
    items = [item for item in reading.items if item not in words.ARTICLES]
    return frozenset(
        [words.stem(then) for item, then in pairwise(items) if item in small and isinstance(then, str)]
    )


def _done(one: Reading, other: Reading) -> bool:
    """What can be has not been done: it can run, it did run."""
    return _can(one) and not _can(other) and _is_past(other) and not _is_past(one)


def _can(reading: Reading) -> bool:
    return any("CAN" in clause.marks for clause in reading.clauses)


def _is_past(reading: Reading) -> bool:
    return any(item in PAST or item in PAST_FORMS for item in reading.items)


def _hearsay(one: Reading, other: Reading) -> bool:
    """`He lied` is all in `she alleges that he lied`, and says more."""
    if not one.content or not one.content < other.content:
        return False
    return any("SAID" in clause.marks for clause in other.clauses) and not any(
        "SAID" in clause.marks for clause in one.clauses
    )


def _joins(one: Reading, other: Reading) -> bool:
    """`a and b` is not `a or b`, except in a denial."""
    if one.content != other.content or any(clause.denied for clause in (*one.clauses, *other.clauses)):
        return False
    mine, theirs = "or" in one.items, "or" in other.items
    return mine != theirs and ("and" in one.items) != ("and" in other.items)


def _turned_round(one: Reading, other: Reading, opposites: Opposites) -> bool:
    # Without the renamed words, which both answers have.
    apart = len(one.content ^ other.content) - 2 * len(opposites.renamed)
    if apart > 1 and apart > SWAPPED * len(one.content | other.content):
        return False
    if not words.SYMMETRIC.isdisjoint(one.items) and not words.SYMMETRIC.isdisjoint(other.items):
        return False
    if _RELATIVES.isdisjoint(one.items) != _RELATIVES.isdisjoint(other.items):
        return False
    if (
        one.content == other.content
        and not _RELATIVES.isdisjoint(one.items)
        and "by" not in (*one.items, *other.items)
    ):
        # The dog that bit the boy, the dog that the boy bit: one change of places is enough.
        return inverted(order(one.items), order(other.items)) and inverted(
            order(one.items, True), order(other.items, True)
        )
    return all(
        reversed_in(order(one.items, equated), order(other.items, equated), opposites.renamed)
        for equated in (False, True)
    )
