"""Whether two answers contradict each other. Every judge asks this first: no similarity outweighs it.

The check is symmetric and reads each answer once. It knows polarity, opposites, quantities, quantifiers,
modality, tense, names and who does what to whom. What it lets pass may still differ; that is for the judge.
"""

from collections.abc import Callable, Sequence
from typing import Final

from beliefd.uncertainty.equivalence import negation, words
from beliefd.uncertainty.equivalence.markers import DOUBT, LOOSE, QUIET
from beliefd.uncertainty.equivalence.order import order, reversed_in
from beliefd.uncertainty.equivalence.port import Pair
from beliefd.uncertainty.equivalence.reading import Clause, Reading, read

ALIKE: Final = 0.5
"""From this share of common words on two clauses, or two answers, are about one thing."""
SAME_WORDS: Final = 0.6
"""From this share of all words on it matters in which order they stand."""
_WEAK: Final = frozenset({"MAY", "POSSIBLE"})
_NONE: Final[frozenset[str]] = frozenset()


def contradicts(a: str, b: str) -> bool:
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
    opposites = _Opposites(one, other)
    if opposites.contrary or _polarities(one.clauses, other.clauses, opposites):
        return True
    if _about_one_thing(one, other) and (_claims(one, other) or _times(one, other) or _joins(one, other)):
        return True
    return not opposites.converse and _turned_round(one, other, opposites)


def _stances(one: Reading, other: Reading) -> bool:
    mine, theirs = _stance(one), _stance(other)
    if mine == theirs:
        return False
    bare = not one.content or not other.content
    return bare or (mine is not None and theirs is not None) or "none" in (mine, theirs)


def _stance(reading: Reading) -> str | None:
    if reading.stance is None and not reading.content and not reading.amounts:
        if reading.modals & DOUBT:
            return "maybe"
        if any(clause.denied for clause in reading.clauses):
            return "no"
    return reading.stance


def _amounts(one: Reading, other: Reading) -> bool:
    """INVARIANT: a number is never a detail; it may be left out, but not be another."""
    return bool(one.amounts - other.amounts and other.amounts - one.amounts)


def _entities(one: Reading, other: Reading) -> bool:
    if one.exact - other.content and other.exact - one.content:
        return True
    if not (one.is_sentence and other.is_sentence):
        return False
    return bool(_strangers(one, other) and _strangers(other, one))


def _strangers(one: Reading, other: Reading) -> bool:
    """Whether a name of one answer is nowhere in the other, not even as its initials."""
    return any(name not in other.initials for name in one.names - other.content)


class _Opposites:
    """Words of one answer whose opposite stands in the other."""

    def __init__(self, one: Reading, other: Reading) -> None:
        only_one, only_other = one.content - other.content, other.content - one.content
        self.renamed: dict[object, object] = {}
        self.converse = self.contrary = False
        for word in only_one:
            found = words.COMPLEMENTS.get(word, _NONE) & only_other
            twin = next(iter(found)) if found else negation.opposed(word, only_other)
            if twin is not None:
                self.renamed[twin] = word
            elif (against := words.CONTRARIES.get(word, _NONE) & only_other) or (
                against := words.CONVERSES.get(word, _NONE) & only_other
            ):
                self._contrary(one, other, word, against)
        for small in one.particles - other.particles:
            if words.CONTRARIES.get(small, _NONE) & (other.particles - one.particles):
                self.contrary = True

    def _contrary(self, one: Reading, other: Reading, word: str, against: frozenset[str]) -> None:
        """Ann is taller than Ben, Ben is shorter than Ann: told from the other end, and no contradiction."""
        twins = against & words.CONVERSES.get(word, _NONE)
        renamed: dict[object, object] = {twin: word for twin in twins}
        if twins and reversed_in(order(one), order(other), renamed):
            self.converse = True
        elif against & words.CONTRARIES.get(word, _NONE):
            self.contrary = True


def _polarities(one: Sequence[Clause], other: Sequence[Clause], opposites: _Opposites) -> bool:
    theirs = [_renamed(clause, opposites.renamed) for clause in other]
    return _denied(one, theirs) or _denied(theirs, one)


def _renamed(clause: Clause, renamed: dict[object, object]) -> Clause:
    turned = clause.content & renamed.keys()
    if not turned:
        return clause
    content = clause.content - turned | {str(renamed[word]) for word in turned}
    denied = clause.denied != (len(turned) % 2 == 1)
    return Clause(content, denied, _NONE, content if denied else _NONE)


def _denied(one: Sequence[Clause], other: Sequence[Clause]) -> bool:
    """Whether a clause is denied in one answer and said in the other, or denied and not even mentioned."""
    for clause in one:
        found = max(other, key=lambda their: _shared(clause, their), default=None)
        if found is None or (clause.content and _shared(clause, found)[0] < ALIKE):
            if clause.denied:
                return True
        elif clause.denied != found.denied:
            return True
        elif clause.denied and clause.targets & found.content - found.behind:
            return True
    return False


def _shared(one: Clause, other: Clause) -> tuple[float, int]:
    common = len(one.content & other.content)
    return common / max(1, min(len(one.content), len(other.content))), common


def _about_one_thing(one: Reading, other: Reading) -> bool:
    size = min(len(one.content), len(other.content))
    return len(one.content & other.content) >= ALIKE * size


def _claims(one: Reading, other: Reading) -> bool:
    """How much and how sure."""
    mine, theirs = one.quantifiers - other.quantifiers, other.quantifiers - one.quantifiers
    if (mine and theirs) or (mine | theirs) - QUIET:
        return True
    sure, unsure = one.modals - LOOSE, other.modals - LOOSE
    if sure - _WEAK != unsure - _WEAK:
        return True
    if bool(sure & _WEAK) == bool(unsure & _WEAK):
        return False
    return not (LOOSE & (one.modals if unsure & _WEAK else other.modals))


def _times(one: Reading, other: Reading) -> bool:
    """What will be has not been, and what is still going on is not over."""
    if {one.tense, other.tense} == {"past", "future"}:
        return True
    return _goes_on(one, other) or _goes_on(other, one)


def _goes_on(one: Reading, other: Reading) -> bool:
    return other.tense == "past" and bool(one.ongoing & other.content - other.ongoing)


def _joins(one: Reading, other: Reading) -> bool:
    """`a and b` is not `a or b`, except in a denial."""
    if one.content != other.content or any(clause.denied for clause in (*one.clauses, *other.clauses)):
        return False
    mine, theirs = "or" in one.items, "or" in other.items
    return mine != theirs and ("and" in one.items) != ("and" in other.items)


def _turned_round(one: Reading, other: Reading, opposites: _Opposites) -> bool:
    common, total = len(one.content & other.content), len(one.content | other.content)
    if not total or common < SAME_WORDS * total:
        return False
    if not words.SYMMETRIC.isdisjoint(one.items) and not words.SYMMETRIC.isdisjoint(other.items):
        return False
    return reversed_in(order(one), order(other), opposites.renamed)
