"""Facts that rules derive, as formulas over what is written: what reads one reads what it rests on.

A derived fact has no variable of its own. It is there if one of its rules fires, which is a formula over
written paths, and what stands in it is what its rule says, or what stands at a path that its rule copies.
Facts that rest on each other are unrolled, round by round, as the kernel works them out.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import z3

from beliefd.kernel.substrate.deriving import RuleSet
from beliefd.kernel.substrate.operators import NOW
from beliefd.kernel.substrate.paths import ABSENT
from beliefd.kernel.substrate.predicates import Predicate, holds
from beliefd.kernel.substrate.rule_graph import Unit
from beliefd.kernel.substrate.rule_reading import Clause, Copy
from beliefd.policy.derived_places import Place, derived_key, holds_copy, of_copies, place
from beliefd.policy.proving.logic import Formula, both, either, instant, negated, reads_widely

Older = Callable[[Predicate, Formula | None], Formula]
"""Is a time, if it is one, longer ago than a condition says?"""
MOST_UNROLLED: Final = 20_000
"""So many clauses are written down for facts that rest on each other; of more, it is left open which hold."""


class Derivations:
    """The rules of one policy. `formula` makes formulas of predicates, `on` of a condition on what is written
    at a path, or on fields of a copy of it; `learn` and `learn_on` tell what will be asked."""

    def __init__(
        self,
        rules: RuleSet,
        learn: Callable[[Predicate], None],
        learn_on: Callable[[Predicate, str, tuple[str, ...]], None],
        formula: Callable[[Predicate], Formula],
        on: Callable[[Predicate, str, tuple[str, ...]], Formula],
    ) -> None:
        self.rules = rules
        self._learn, self._learn_on, self._formula, self._on = learn, learn_on, formula, on
        self._unit_of = {key: at for at, unit in enumerate(rules.order.units) for key in unit.keys}
        self._there: dict[str, Formula] = {}
        self._learned: set[str] = set()
        self._to_learn: list[str] = []
        self.open: dict[str, str] = {}
        """By name of what is left open: the fact, for who asks why nothing can be said."""

    def place(self, path: str) -> Place | None:
        """None where no rule derives what stands at a path."""
        return place(self.rules, path)

    def learn(self, leaf: Predicate, place: Place) -> None:
        """A condition on what is derived: what its rules read is learned, and so is what they copy."""
        if isinstance(place.value, Copy):
            self._learn_on(leaf, place.value.path, place.fields)
        elif holds_copy(place.value) and (inner := _inside(leaf, place)) is not None:
            self._learn(inner)
        nested = bool(self._to_learn)
        self._to_learn.append(place.key)
        # What a rule reads may be derived itself: it is taken up here, however long the chain is.
        while self._to_learn and not nested:
            key = self._to_learn[-1]
            for clause in () if key in self._learned else self.rules.by_key[key]:
                self._learned.add(key)
                if clause.when is not None:
                    self._learn(clause.when)
                for path in clause.copies:
                    self._learn(Predicate("exists", (path,)))
            self._to_learn.remove(key)

    def _rests_on(self, clause: Clause) -> Iterator[str]:
        return (key for path in clause.paths if (key := derived_key(self.rules, path)) is not None)

    def leaf(self, leaf: Predicate, place: Place, older: Older) -> Formula:
        """Does a condition hold of what is derived?"""
        if leaf.op == "missing":
            return negated(self.leaf(Predicate("exists", leaf.args[:1]), place, older))
        return both(self.there(place.key), self._on_value(leaf, place, older))

    def _on_value(self, leaf: Predicate, place: Place, older: Older) -> Formula:
        value = place.value
        if value is ABSENT:
            return False
        if isinstance(value, Copy):
            return self._on(leaf, value.path, place.fields)
        if leaf.op == "exists":
            return True
        if holds_copy(value):
            inner = _inside(leaf, place)
            if inner is not None:
                return self._formula(inner)
            return self._left_open(f"{place.key} {leaf.op} {leaf.args!r}", place.key)
        if leaf.op == "age_over":
            return older(leaf, instant(value, wide=reads_widely(leaf)))
        return holds(Predicate(leaf.op, ("it", *leaf.args[1:])), {"it": value, NOW: ""}, _by_no_name)

    def _left_open(self, what: str, key: str) -> Formula:
        self.open[what] = key
        return z3.Bool(f"left open {what} {id(self)}")

    def there(self, key: str) -> Formula:
        """Does any rule derive the fact?"""
        if key not in self._there:
            for at in sorted(self._needed(key)):
                self._work_out(self.rules.order.units[at])
        return self._there[key]

    def _needed(self, key: str) -> set[int]:
        """Units that it rests on and that are not worked out yet. They come after all that they read."""
        found, waiting = set[int](), [key]
        while waiting:
            at = self._unit_of[waiting.pop()]
            unit = self.rules.order.units[at]
            if at not in found and unit.keys[0] not in self._there:
                found.add(at)
                waiting.extend(one for clause in unit.clauses for one in self._rests_on(clause))
        return found

    def _work_out(self, unit: Unit) -> None:
        rounds = len(unit.keys) if unit.readers else 1
        if rounds * len(unit.clauses) > MOST_UNROLLED:
            self._there |= {key: self._left_open(f"{key} there", key) for key in unit.keys}
            return
        # Nothing is there before the first round, and each adds one at least, or is the last.
        self._there |= dict.fromkeys(unit.keys, False)
        for _ in range(rounds):
            fired: dict[str, list[Formula]] = {key: [] for key in unit.keys}
            for clause in unit.clauses:
                fired[clause.key].append(self._fires(clause))
            self._there |= {key: either(*some) for key, some in fired.items()}

    def _fires(self, clause: Clause) -> Formula:
        copied = (self._formula(Predicate("exists", (path,))) for path in clause.copies)
        return both(True if clause.when is None else self._formula(clause.when), *copied)


def _inside(leaf: Predicate, place: Place) -> Predicate | None:
    """The condition as one on what is copied into a fact."""
    return of_copies(leaf.op, leaf.args[1:], place.value)


def _by_no_name(name: str, _: Any) -> bool:
    """For conditions whose schemas are written out."""
    raise KeyError(name)
