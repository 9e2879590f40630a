"""Conditions as formulas: each operator on the values that its path can hold."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import eq, ge, gt, le, lt
from typing import Any, Final

import msgspec

from beliefd.kernel.canonical import canonical
from beliefd.kernel.substrate.deriving import RuleSet
from beliefd.kernel.substrate.predicates import Predicate
from beliefd.kernel.substrate.rule_reading import Copy
from beliefd.kernel.substrate.schemas import Pattern, Schema
from beliefd.policy.proving.derivations import Derivations
from beliefd.policy.proving.domains import LIST, NUMBER, OBJECT, OPEN_KINDS, TEXT, TIME, Domain, in_common
from beliefd.policy.proving.logic import (
    Formula,
    both,
    either,
    exactly,
    instant,
    negated,
    older,
    reads_widely,
)
from beliefd.policy.proving.paths import ARGS, NOW

JOINING: Final = ("all", "any", "not")
COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {"lt": lt, "le": le, "gt": gt, "ge": ge, "eq": eq}


def leaves(predicate: Predicate) -> Iterator[Predicate]:
    """The conditions that a predicate is made of."""
    if predicate.op not in JOINING:
        yield predicate
        return
    for one in predicate.args:
        yield from leaves(one)


def can_be_too_long(leaf: Predicate) -> bool:
    """Can a text be too long for what a condition looks for in it?"""
    return isinstance(leaf.args[-1], Pattern | Schema) and leaf.args[-1].is_bounded


def leaf_key(predicate: Predicate) -> bytes:
    """Two conditions have the same key if they say the same."""
    return msgspec.json.encode((predicate.op, predicate.args), enc_hook=_plain, order="sorted")


def _plain(value: Any) -> Any:
    """What is prepared for judging quickly, as it was written."""
    if isinstance(value, Schema):
        return value.raw
    return str(value) if isinstance(value, str) else list(value)


At = Callable[[str, tuple[str, ...]], Domain]
"""The domain of a path, or of fields in a copy of what stands there."""


class Conditions:
    """Makes formulas of predicates. `at` gives the domain of a path, `schemas` are those known by name, and
    `rules` derive some of what is read."""

    def __init__(self, at: At, schemas: Mapping[str, Any], rules: RuleSet) -> None:
        self._at, self._schemas = at, schemas
        self._compiled: dict[str, Schema] = {}
        self.derived = Derivations(rules, self.learn, self._learn_on, self.formula, self._on)

    def learn(self, predicate: Predicate) -> None:
        for leaf in leaves(predicate):
            place = self.derived.place(leaf.args[0])
            if place is None:
                self._learn_on(leaf, leaf.args[0])
            else:
                self.derived.learn(leaf, place)
                if leaf.op == "age_over":
                    self._at(NOW, ()).leaves[leaf_key(leaf)] = leaf

    def _learn_on(self, leaf: Predicate, path: str, fields: tuple[str, ...] = ()) -> None:
        one, domain = self._written_out(leaf), self._at(path, fields)
        domain.learn_condition(one, leaf_key(one))
        if one.op == "schema":
            for literal in named_in(one.args[1].raw):
                domain.learn(literal)

    def _written_out(self, leaf: Predicate) -> Predicate:
        """The condition with the schema that it names: under another policy the name may mean another."""
        if leaf.op != "schema" or isinstance(leaf.args[1], Schema):
            return leaf
        name = leaf.args[1]
        if name not in self._compiled:
            self._compiled[name] = Schema(self._schemas[name])
        return Predicate("schema", (leaf.args[0], self._compiled[name]))

    def formula(self, predicate: Predicate) -> Formula:
        if predicate.op == "all":
            return both(*map(self.formula, predicate.args))
        if predicate.op == "any":
            return either(*map(self.formula, predicate.args))
        if predicate.op == "not":
            return negated(self.formula(predicate.args[0]))
        leaf = self._written_out(predicate)
        place = self.derived.place(leaf.args[0])
        if place is None:
            return self._on(leaf, leaf.args[0])
        return self.derived.leaf(leaf, place, self._older)

    def unjudged(self, predicate: Predicate) -> Formula:
        """Is a text read that is too long for its pattern, before what is read earlier has settled it?"""
        if predicate.op not in JOINING:
            return self._too_long(self._written_out(predicate))
        found, open_still = list[Formula](), list[Formula]()
        if not any(map(can_be_too_long, map(self._written_out, leaves(predicate)))):
            return False
        for one in predicate.args:
            found.append(both(*open_still, self.unjudged(one)))
            open_still.append(negated(self.formula(one)) if predicate.op == "any" else self.formula(one))
        return either(*found)

    def _too_long(self, leaf: Predicate) -> Formula:
        if not can_be_too_long(leaf):
            return False
        place = self.derived.place(leaf.args[0])
        if place is None:
            return self._at(leaf.args[0], ()).too_long(leaf, leaf_key(leaf))
        if not isinstance(place.value, Copy):
            return False
        copied = self._at(place.value.path, place.fields).too_long(leaf, leaf_key(leaf))
        return both(self.derived.there(place.key), copied)

    def twofold(self, paths: Iterable[str]) -> Formula:
        """Can one of these arguments be read in two ways? Of the state, it is taken that none can: the kernel
        refuses changes that make a path ambiguous which is read."""
        found = [self._at(path, ()) for path in paths if path.startswith(f"{ARGS}.")]
        for one in found:
            one.value  # noqa: B018 - what is read in two ways comes up
        return either(*(one.twofold for one in found))

    def _older(self, leaf: Predicate, time: Formula | None) -> Formula:
        now = self._at(NOW, ())
        age = leaf.args[1]
        return False if time is None else both(now.moment(wide=False), now.time - time >= older(age))

    def _on(self, leaf: Predicate, path: str, fields: tuple[str, ...] = ()) -> Formula:
        """A condition on what is written at a path."""
        return self._leaf(leaf, self._at(path, fields))

    def _leaf(self, predicate: Predicate, domain: Domain) -> Formula:
        op, args = predicate.op, predicate.args
        if op == "exists":
            return domain.present()
        if op == "missing":
            return domain.absent()
        if op == "eq":
            return domain.equals(args[1])
        if op == "in":
            return either(*map(domain.equals, args[1]))
        return OPERATORS.get(op, Conditions._unknown)(self, predicate, domain)

    def _compared(self, predicate: Predicate, domain: Domain) -> Formula:
        op, args = predicate.op, predicate.args
        bounds = [("ge", args[1]), ("le", args[2])] if op == "between" else [(op, args[1])]
        wide = reads_widely(predicate)
        return both(*(_bounded(domain, op, bound, wide=wide) for op, bound in bounds))

    def _age(self, predicate: Predicate, domain: Domain) -> Formula:
        return both(domain.moment(wide=reads_widely(predicate)), self._older(predicate, domain.time))

    def _begins(self, predicate: Predicate, domain: Domain) -> Formula:
        of = [at for at, one in enumerate(domain.prefixes, 1) if one.startswith(predicate.args[1])]
        return self._text(predicate, domain, either(*(domain.prefix == at for at in of)))

    def _ends(self, predicate: Predicate, domain: Domain) -> Formula:
        of = [at for at, one in enumerate(domain.suffixes, 1) if one.endswith(predicate.args[1])]
        return self._text(predicate, domain, either(*(domain.suffix == at for at in of)))

    def _text(self, predicate: Predicate, domain: Domain, other: Formula) -> Formula:
        return either(
            domain.judged_literals(predicate),
            both(domain.is_kind(TEXT), other),
            domain.unknown(predicate, leaf_key(predicate), TIME),
        )

    def _subset(self, predicate: Predicate, domain: Domain) -> Formula:
        inside = {canonical(one) for one in predicate.args[1]}
        outside = [truth for key, (truth, _) in domain.members.items() if key not in inside]
        only = negated(either(domain.other, *outside))
        return self._listed(predicate, domain, only)

    def _intersects(self, predicate: Predicate, domain: Domain) -> Formula:
        inside = {canonical(one) for one in predicate.args[1]}
        some = either(*(truth for key, (truth, _) in domain.members.items() if key in inside))
        return self._listed(predicate, domain, some)

    def _listed(self, predicate: Predicate, domain: Domain, truth: Formula) -> Formula:
        return either(domain.judged_literals(predicate), both(domain.is_kind(LIST), truth))

    def _counted(self, predicate: Predicate, domain: Domain) -> Formula:
        _, op, number = predicate.args
        of_many = both(domain.is_kind(LIST, OBJECT), COMPARE[op](domain.length, int(number)))
        return either(domain.judged_literals(predicate), of_many)

    def _matches(self, predicate: Predicate, domain: Domain) -> Formula:
        known = domain.judged_literals(predicate)
        return either(known, domain.unknown(predicate, leaf_key(predicate), TEXT, TIME))

    def _fitting(self, predicate: Predicate, domain: Domain) -> Formula:
        needed, exact = domain.fits_schema(in_common(predicate.args[1].raw))
        needed = both(domain.present(), needed)
        if exact:
            return needed
        known = domain.judged_literals(predicate)
        return both(needed, either(known, domain.unknown(predicate, leaf_key(predicate), *OPEN_KINDS)))

    def _unknown(self, predicate: Predicate, domain: Domain) -> Formula:
        """An operator that came later: true or not, of whatever is there."""
        return domain.unknown(predicate, leaf_key(predicate), *sorted(domain.kinds - {0}))


OPERATORS: Final[dict[str, Callable[[Conditions, Predicate, Domain], Formula]]] = {
    **dict.fromkeys(("lt", "le", "gt", "ge", "between"), Conditions._compared),
    "age_over": Conditions._age,
    "starts_with": Conditions._begins,
    "ends_with": Conditions._ends,
    "subset": Conditions._subset,
    "intersects": Conditions._intersects,
    "count": Conditions._counted,
    "matches": Conditions._matches,
    "schema": Conditions._fitting,
}


def _bounded(domain: Domain, op: str, bound: Any, *, wide: bool) -> Formula:
    if isinstance(bound, str):
        return both(domain.moment(wide=wide), COMPARE[op](domain.time, instant(bound)))
    return both(domain.is_kind(NUMBER), COMPARE[op](domain.number, exactly(bound)))


def named_in(schema: Any) -> Iterator[Any]:
    """The values that a schema names at its top."""
    if isinstance(schema, dict):
        yield from schema.get("enum", ())
        if "const" in schema:
            yield schema["const"]
