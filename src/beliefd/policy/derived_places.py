"""Where a path leads that goes into what rules derive: to what a rule says, or to what it copies."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from beliefd.kernel.substrate.comparing import compare
from beliefd.kernel.substrate.deriving import RuleSet
from beliefd.kernel.substrate.paths import ABSENT, keys_of, same
from beliefd.kernel.substrate.predicates import Predicate
from beliefd.kernel.substrate.rule_reading import Copy


class Place(Struct, frozen=True):
    """Where a path leads: into the fact under `key`. `value` is what the rule says stands there, or nothing;
    a `Copy` with `fields` is what the fields of a written value lead to."""

    key: str
    value: Any
    fields: tuple[str, ...] = ()


def derived_key(rules: RuleSet, path: str) -> str | None:
    """The derived fact that a path goes into; None if that is not one."""
    return next((one for one in keys_of(path) if one in rules.by_key), None)


def place(rules: RuleSet, path: str) -> Place | None:
    """None where no rule derives what stands at a path.

    A copy of a derived fact is followed to what is written: where it is there, so is its source.
    """
    first = key = derived_key(rules, path)
    if first is None or key is None:
        return None
    rests = [path[len(key) + 1 :]] if path != key else []
    while True:
        # Rules that derive one fact all say the same of it.
        value: Any = rules.by_key[key][0].value
        while rests and not isinstance(value, Copy) and value is not ABSENT:
            value, left = _field(value, rests[0])
            rests = ([] if left is None else [left]) + rests[1:]
        if not isinstance(value, Copy):
            return Place(first, value)
        key = derived_key(rules, value.path)
        if key is None:
            return Place(first, value, tuple(rests))
        if value.path != key:
            rests = [value.path[len(key) + 1 :], *rests]


def holds_copy(value: Any) -> bool:
    """Is any of it copied from somewhere?"""
    if isinstance(value, dict):
        return any(map(holds_copy, value.values()))
    return any(map(holds_copy, value)) if isinstance(value, list) else isinstance(value, Copy)


def of_copies(op: str, args: tuple[Any, ...], value: Any) -> Predicate | None:
    """A condition on a whole value into which others are copied, as one on what is copied; None if it is not
    worked out, which is said of schemas.

    INVARIANT: it holds exactly if the condition does, where all that is copied is there.
    """
    if op == "schema":
        return None
    if op == "eq":
        return _is_literal(value, args[0])
    if op == "in":
        return _either(_is_literal(value, one) for one in args[0])
    if op == "count":
        return _known(compare(args[0], len(value), args[1]))
    if op in ("subset", "intersects") and isinstance(value, list):
        found = [_either(_is_literal(item, one) for one in args[0]) for item in value]
        return Predicate("all", tuple(found)) if op == "subset" else _either(found)
    return _known(op == "exists")  # of objects and lists nothing else is true


def _is_literal(value: Any, literal: Any) -> Predicate:
    if isinstance(value, Copy):
        return Predicate("eq", (value.path, literal))
    if isinstance(value, dict) and isinstance(literal, dict) and value.keys() == literal.keys():
        return Predicate("all", tuple(_is_literal(value[name], literal[name]) for name in value))
    if isinstance(value, list) and isinstance(literal, list | tuple) and len(value) == len(literal):
        return Predicate("all", tuple(map(_is_literal, value, literal)))
    return _known(not isinstance(value, dict | list) and same(value, literal))


def _either(some: Iterable[Predicate]) -> Predicate:
    return Predicate("any", tuple(some))


def _known(truth: bool) -> Predicate:
    return Predicate("all" if truth else "any", ())


def _field(value: Any, path: str) -> tuple[Any, str | None]:
    """One step into what a rule says, and what is left of the path: the longest name that there is."""
    if isinstance(value, dict):
        for name in keys_of(path):
            if name in value:
                return value[name], None if name == path else path[len(name) + 1 :]
    return ABSENT, None
