"""What a path can hold, told apart only as far as policies tell it apart.

A value is one of a few kinds, or one of the literals that policies name for its path. Numbers and times are
numbers for the solver, lists are what is in them. What cannot be said exactly is a truth value of its own
that nobody knows: a proof holds whichever it is.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from sys import float_info
from typing import Any, Final

import z3

from beliefd.kernel.canonical import MAX_SAFE_INTEGER, canonical
from beliefd.kernel.substrate.predicates import Predicate, holds
from beliefd.policy.proving.logic import TIMES, Formula, both, either, exactly, instant, negated

ABSENT, NULL, TRUE, FALSE, NUMBER, TIME, TEXT, LIST, OBJECT = range(9)
FIRST_LITERAL: Final = 9
BITS: Final = 24
"""Of a number that stands for a value: a solver tells bits apart faster than it does numbers."""
ANY_KIND: Final = frozenset(range(FIRST_LITERAL)) - {TIME}
PRESENT: Final = ANY_KIND - {ABSENT}
OPEN_KINDS: Final = (NUMBER, TIME, TEXT, LIST, OBJECT)
"""Kinds that stand for many values."""
TYPES: Final[dict[str, tuple[int, ...]]] = {
    "null": (NULL,),
    "boolean": (TRUE, FALSE),
    "number": (NUMBER,),
    "integer": (NUMBER,),
    "string": (TEXT, TIME),
    "array": (LIST,),
    "object": (OBJECT,),
}
"""Types of JSON Schema."""


KIND_OF: Final[dict[type, int]] = {str: TEXT, list: LIST, tuple: LIST, dict: OBJECT}


class Opaque:
    """A condition whose truth is not worked out: it may be either, for values of this kind. Or it may be
    `too_long` to say, for the evaluator, too."""

    __slots__ = ("predicate", "too_long", "truth")

    def __init__(self, predicate: Predicate, name: str) -> None:
        self.predicate = predicate
        self.truth = z3.Bool(name)
        self.too_long: Formula = z3.Bool(f"{name} too long")


class Domain:
    """The values at one path. Literals and conditions are learned first, then formulas are made."""

    def __init__(
        self, path: str, name: str, kinds: Iterable[int] = ANY_KIND, only: Iterable[Any] | None = None
    ) -> None:
        self.path, self.name = path, name
        self.kinds = set(kinds)
        self.closed = only is not None
        self.literals: dict[bytes, tuple[int, Any]] = {}
        self.members: dict[bytes, tuple[Formula, Any]] = {}
        self.prefixes: list[str] = []
        self.suffixes: list[str] = []
        self.leaves: dict[bytes, Predicate] = {}
        self.opaque: dict[bytes, Opaque] = {}
        self.also: list[Callable[[], Formula]] = []
        self.timed = self.counted = self.objects_only = False
        for value in only or ():
            self._add(value)

    # Variables are made when a formula needs them: most paths of a large policy never come up.
    value = cached_property(lambda self: z3.BitVec(self.name, BITS))
    number = cached_property(lambda self: z3.Real(f"{self.name}#number"))
    time = cached_property(lambda self: z3.Real(f"{self.name}#time"))
    length = cached_property(lambda self: z3.Int(f"{self.name}#length"))
    other = cached_property(lambda self: z3.Bool(f"{self.name}#other"))
    prefix = cached_property(lambda self: z3.Int(f"{self.name}#prefix"))
    suffix = cached_property(lambda self: z3.Int(f"{self.name}#suffix"))
    narrow: Formula = cached_property(lambda self: z3.Bool(f"{self.name}#narrow"))
    """Is a time written as policies write times?"""
    twofold = cached_property(lambda self: z3.Bool(f"{self.name}#twofold"))
    """Can the path be read in another way, too, that leads to something?"""

    @property
    def comes_up(self) -> bool:
        """Does any formula speak of it? What does not is not there, in the calls that are found."""
        return "value" in vars(self)

    def learn(self, literal: Any) -> None:
        if not self.closed and self._admits(literal):
            self._add(literal)

    def _admits(self, literal: Any) -> bool:
        """Can it stand at the path? What is only ever a text is an id, and no id is empty."""
        kind = next((kind for of, kind in KIND_OF.items() if isinstance(literal, of)), None)
        if kind == TEXT and TEXT not in self.kinds:
            return TIME in self.kinds and instant(literal, wide=False) is not None
        return kind in self.kinds and not (literal == "" and self.kinds == {TEXT})

    def learn_condition(self, predicate: Predicate, key: bytes) -> None:
        """What a condition names becomes part of the domain."""
        self.leaves[key] = predicate
        op, args = predicate.op, predicate.args
        if op == "eq":
            self.learn(args[1])
        elif op == "in":
            for one in args[1]:
                self.learn(one)
        elif op in ("subset", "intersects"):
            self.counted = True
            for one in args[1]:
                known = canonical(one)
                if known not in self.members:
                    self.members[known] = (z3.Bool(f"{self.name}#has{len(self.members)}"), one)
        elif op == "count":
            self.counted = True
        elif op == "starts_with" and args[1] not in self.prefixes:
            self.prefixes.append(args[1])
        elif op == "ends_with" and args[1] not in self.suffixes:
            self.suffixes.append(args[1])
        if op == "age_over" or any(isinstance(one, str) for one in args[1:] if op in COMPARING):
            self.learn_time()

    def learn_time(self) -> None:
        self.timed = True
        if TEXT in self.kinds:
            self.kinds.add(TIME)

    def _add(self, value: Any) -> None:
        if isinstance(value, str | list | tuple | dict):
            known = canonical(value)
            if known not in self.literals:
                self.literals[known] = (FIRST_LITERAL + len(self.literals), value)

    def axioms(self) -> list[Formula]:
        """What holds of the values of this path, whatever policies say."""
        value, end = self.value, FIRST_LITERAL + len(self.literals)
        found: list[Formula] = [z3.ULT(value, end), *(one() for one in self.also)]
        found += [value != kind for kind in range(FIRST_LITERAL) if kind not in self.kinds]
        if self.timed:
            found += [self.time >= TIMES[0], self.time <= TIMES[1]]
            for code, literal in self.literals.values():
                if (moment := instant(literal)) is not None:
                    found.append(z3.Implies(value == code, self.time == moment))
        if self.prefixes:
            found += [self.prefix >= (1 if "" in self.prefixes else 0), self.prefix <= len(self.prefixes)]
        if self.suffixes:
            found += [self.suffix >= (1 if "" in self.suffixes else 0), self.suffix <= len(self.suffixes)]
        return found + (self._list_axioms() if self.counted else [])

    def _list_axioms(self) -> list[Formula]:
        held = [truth for truth, _ in self.members.values()]
        distinct = z3.Sum([z3.If(one, 1, 0) for one in (*held, self.other)])
        some = z3.Or(*held, self.other)
        of_list = z3.And(self.length >= distinct, some == (self.length > 0))
        return [self.length >= 0, z3.Implies(self.value == LIST, of_list)]

    def is_kind(self, *kinds: int) -> Formula:
        return either(*(self.value == kind for kind in kinds if kind in self.kinds))

    def present(self) -> Formula:
        return self.value != ABSENT if ABSENT in self.kinds else True

    def absent(self) -> Formula:
        return self.value == ABSENT if ABSENT in self.kinds else False

    @property
    def objects(self) -> list[tuple[int, dict[str, Any]]]:
        """Those that policies name for the path, with what stands for them."""
        return [(code, one) for code, one in self.literals.values() if isinstance(one, dict)]

    def is_object(self) -> Formula:
        return either(self.is_kind(OBJECT), *(self.value == code for code, _ in self.objects))

    def is_in(self, holder: Mapping[str, Any], field: str, *, hidden: bool) -> Formula:
        """Is it what an object has in a field, or what may hide that? What nobody names here is not known."""
        if field not in holder:
            return either(self.absent(), self.is_object())
        value = holder[field]
        plain = value is None or isinstance(value, bool | int | float)
        known = plain or canonical(value) in self.literals
        return either(self.is_object() if hidden else False, self.equals(value)) if known else True

    def equals(self, literal: Any) -> Formula:
        """Is the value at the path this one?"""
        if literal is None or isinstance(literal, bool):
            return self.is_kind(NULL if literal is None else TRUE if literal else FALSE)
        if isinstance(literal, int | float):
            return both(self.is_kind(NUMBER), self.number == exactly(literal))
        known = canonical(literal)
        if known in self.literals:
            return self.value == self.literals[known][0]
        if self.closed or not self._admits(literal):
            return False
        # INVARIANT: what nobody has told of before formulas were made is not taken to be nowhere.
        kind = next(kind for of, kind in KIND_OF.items() if isinstance(literal, of))
        return self.unknown(Predicate("eq", (self.path, literal)), b"eq " + known, kind, TIME)

    def judged_literals(self, predicate: Predicate) -> Formula:
        """A condition on what stands for itself: the evaluator's own word."""
        asked = Predicate(predicate.op, ("it", *predicate.args[1:]))
        fixed = {NULL: None, TRUE: True, FALSE: False}
        found = [
            code
            for code, one in fixed.items()
            if code in self.kinds and holds(asked, {"it": one}, by_no_name)
        ]
        found += [code for code, one in self.literals.values() if holds(asked, {"it": one}, by_no_name)]
        return either(*(self.value == code for code in found))

    def unknown(self, predicate: Predicate, key: bytes, *kinds: int) -> Formula:
        """A condition on values of these kinds, of which it is not known whether it holds."""
        of_kind = self.is_kind(*kinds)
        return of_kind if of_kind is False else both(of_kind, self._opaque(predicate, key).truth)

    def too_long(self, predicate: Predicate, key: bytes) -> Formula:
        """Is there a text that is too long for the patterns of a condition?"""
        of_kind = self.is_kind(TEXT, TIME, LIST, OBJECT)
        return of_kind if of_kind is False else both(of_kind, self._opaque(predicate, key).too_long)

    def _opaque(self, predicate: Predicate, key: bytes) -> Opaque:
        if key not in self.opaque:
            self.opaque[key] = Opaque(predicate, f"{self.name}#unknown{len(self.opaque)}")
        return self.opaque[key]

    def usual(self) -> Formula:
        """Are its texts short enough, its numbers such that JSON holds them, and its times not the very first
        and last of all? Of other calls the evaluator is not asked; what holds, holds of them, too."""
        found = [negated(one.too_long) for one in self.opaque.values()]
        if self.timed:
            found += [self.time >= CALENDAR[0], self.time <= CALENDAR[1]]
        if "number" in vars(self):
            size = z3.If(self.number < 0, -self.number, self.number)
            large = both(size >= exactly(LEAST_LARGE), size <= exactly(float_info.max))
            found.append(either(size <= MAX_SAFE_INTEGER, large))
        return both(*found)

    def moment(self, *, wide: bool = True) -> Formula:
        """Is the value a time? Then `time` is it, in seconds."""
        codes = [code for code, one in self.literals.values() if instant(one, wide=wide) is not None]
        other = both(self.is_kind(TIME), True if wide else self.narrow)
        return either(other, *(self.value == code for code in codes))

    def fits_schema(self, schema: Any) -> tuple[Formula, bool]:
        """What a schema asks of the value at this path, and whether that is all that it asks."""
        if schema is True or schema == {}:
            return True, True
        if not isinstance(schema, dict):
            return schema is not False, schema is False
        if not ELSEWHERE.isdisjoint(schema):
            return True, False
        found, exact = list[Formula](), schema.keys() <= SAID_EXACTLY
        if "enum" in schema:
            found.append(either(*(self.equals(one) for one in schema["enum"])))
        if "const" in schema:
            found.append(self.equals(schema["const"]))
        if (named := schema.get("type")) is not None:
            found.append(
                either(*(self._of_type(one) for one in ([named] if isinstance(named, str) else named)))
            )
        for word, bounded in BOUNDS.items():
            if isinstance(schema.get(word), int | float):
                within = bounded(self.number, exactly(schema[word]))
                found.append(either(negated(self.is_kind(NUMBER)), within))
        return both(*found), exact

    def _of_type(self, name: str) -> Formula:
        kinds = TYPES.get(name, ())
        literal = {"string": str, "array": list | tuple, "object": dict}.get(name)
        codes = [code for code, one in self.literals.values() if literal and isinstance(one, literal)]
        found = either(self.is_kind(*kinds), *(self.value == code for code in codes))
        return both(found, z3.IsInt(self.number)) if name == "integer" else found


def by_no_name(name: str, _: Any) -> bool:
    """For conditions whose schemas are written out."""
    raise KeyError(name)


CALENDAR: Final = (instant("0001-01-02T00:00:00Z"), instant("9999-07-01T00:00:00Z"))
"""Times in between can be written with any offset, and others be reckoned from them: months later, too."""
LEAST_LARGE: Final = 1e21
"""From here on, JSON holds numbers again: those that are written with an exponent."""
COMPARING: Final = ("lt", "le", "gt", "ge", "between")
BOUNDS: Final[dict[str, Any]] = {
    "minimum": lambda number, bound: number >= bound,
    "maximum": lambda number, bound: number <= bound,
    "exclusiveMinimum": lambda number, bound: number > bound,
    "exclusiveMaximum": lambda number, bound: number < bound,
}
NOTES: Final = frozenset({"title", "description", "default", "examples", "$comment"})
"""Words of JSON Schema that ask for nothing."""
SAID_EXACTLY: Final = NOTES | {"type", "enum", "const", *BOUNDS}
"""Those that are said to the solver as they are."""
ELSEWHERE: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id", "id"})
"""Those beside which others may mean something else, or nothing: of such a schema nothing is said."""
ALIKE: Final = re.compile(r"^https?://json-schema\.org/draft(-06|-07|/2019-09|/2020-12)/schema#?$")
"""Drafts in which all others mean the same. In earlier ones, 1.0 is no whole number, and `const` is none."""


def in_common(schema: Any) -> Any:
    """A whole schema without its own name and its draft, where its words mean what they do in all drafts."""
    if not isinstance(schema, dict) or not ALIKE.search(str(schema.get("$schema", DRAFT))):
        return schema
    return {word: one for word, one in schema.items() if word not in ("$schema", "$id")}


DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
"""What is meant where nothing is said."""
