"""A call and a state out of a model of the solver's: concrete values, put where their paths lead."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from fractions import Fraction
from math import inf, nextafter
from typing import Any, Final

import z3

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.substrate.paths import ABSENT as NOTHING
from beliefd.kernel.substrate.paths import look_up, same
from beliefd.kernel.substrate.predicates import Predicate, holds
from beliefd.policy.proving import domains as kinds
from beliefd.policy.proving.domains import Domain, by_no_name
from beliefd.policy.proving.logic import SECOND, Formula, exactly
from beliefd.policy.proving.paths import EPOCH
from beliefd.policy.proving.samples import samples

OTHER: Final = "~other"
"""Stands for any text that no policy names."""
LONGEST: Final = 10_000


class Reader:
    """Values of domains in one model."""

    def __init__(self, model: z3.ModelRef) -> None:
        self._model = model

    def truth(self, formula: Any) -> bool:
        return formula if isinstance(formula, bool) else z3.is_true(self._model.eval(formula, True))

    def whole(self, variable: Any) -> int:
        return int(self._model.eval(variable, True).as_long())

    def code(self, domain: Domain) -> int:
        return self.whole(domain.value)

    def number(self, variable: Any) -> Fraction:
        return Fraction(self._model.eval(variable, True).as_fraction())

    def gap(self, domain: Domain) -> Formula:
        """It is none of the numbers between two that JSON holds, if it is one now."""
        if "number" not in vars(domain) or (found := self.number(domain.number)) == _plain_number(found):
            return True
        near = float(found)
        low, high = (near, nextafter(near, inf)) if near < found else (nextafter(near, -inf), near)
        return z3.Or(domain.number <= exactly(low), domain.number >= exactly(high))

    def value(self, domain: Domain) -> Any:
        """What stands at the path: the first value of its kind that is what the model says of it."""
        code = self.code(domain)
        if code >= kinds.FIRST_LITERAL:
            return next(literal for number, literal in domain.literals.values() if number == code)
        fixed = {kinds.ABSENT: NOTHING, kinds.NULL: None, kinds.TRUE: True, kinds.FALSE: False}
        if code in fixed:
            return fixed[code]
        tried = list(self._candidates(domain, code))
        wanted = [(one.predicate, self.truth(one.truth)) for one in domain.opaque.values()]
        fitting = (one for one in tried if all(_is(leaf, one) is truth for leaf, truth in wanted))
        return next(fitting, tried[0])

    def _candidates(self, domain: Domain, code: int) -> Iterator[Any]:
        if code == kinds.NUMBER:
            yield _plain_number(self.number(domain.number))
        elif code == kinds.TIME:
            text = _time(self.number(domain.time))
            yield text if self.truth(domain.narrow) else text.replace("T", " ")
        elif code == kinds.TEXT:
            yield self._text(domain)
        elif code == kinds.LIST:
            yield self._list(domain)
        else:
            yield self._object(domain)
        for one in domain.opaque.values():
            yield from (found for found in samples(one.predicate) if _is_kind(found, code))

    def _text(self, domain: Domain) -> str:
        begins = self.whole(domain.prefix) if domain.prefixes else 0
        ends = self.whole(domain.suffix) if domain.suffixes else 0
        first = domain.prefixes[begins - 1] if begins else ""
        last = domain.suffixes[ends - 1] if ends else ""
        return f"{first}{OTHER}{last}"

    def _list(self, domain: Domain) -> list[Any]:
        if not domain.counted:
            return [OTHER]
        found = [one for truth, one in domain.members.values() if self.truth(truth)]
        found += [OTHER] if self.truth(domain.other) else []
        missing = min(self.whole(domain.length), LONGEST) - len(found)
        return [*found, *(found[-1:] * missing)]

    def _object(self, domain: Domain) -> dict[str, Any]:
        found: dict[str, Any] = {"v": 1} if domain.objects_only else {}
        # It is none of those that policies name, however many fields it has.
        if domain.objects and not domain.counted:
            found[OTHER] = True
        elif domain.objects_only:
            found["v"] += max((one["v"] for _, one in domain.objects if type(one.get("v")) is int), default=0)
        if domain.counted:
            for at in range(min(self.whole(domain.length), LONGEST) - len(found)):
                found[f"{OTHER}{at}"] = True
        return found


def _is(leaf: Predicate, value: Any) -> bool:
    return holds(Predicate(leaf.op, ("it", *leaf.args[1:])), {"it": value}, by_no_name)


def _is_kind(value: Any, code: int) -> bool:
    if code == kinds.NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool)
    named = {kinds.TEXT: str, kinds.TIME: str, kinds.LIST: list, kinds.OBJECT: dict}
    return isinstance(value, named[code])


def _plain_number(found: Fraction) -> int | float:
    if found.denominator == 1 and abs(found) <= MAX_SAFE_INTEGER:
        return found.numerator
    return float(found)


def _time(seconds: Fraction) -> str:
    moment = EPOCH + timedelta(microseconds=int(seconds * SECOND))
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def state_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """A state in which every path leads to its value, as far as there is one."""
    state: dict[str, Any] = {}
    for group in _by_key(values):
        _place_group(state, group)
    return state


def _by_key(values: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Paths that may mean the same key."""
    groups: dict[str, dict[str, Any]] = {}
    for path in sorted(values, key=len):
        groups.setdefault(".".join(path.split(".")[:2]), {})[path] = values[path]
    return groups.values()


def _place_group(state: dict[str, Any], group: dict[str, Any]) -> None:
    done: dict[str, Any] = {path: value for path, value in group.items() if value is NOTHING}
    for path, value in group.items():
        if value is NOTHING:
            continue
        done[path] = value
        ways = list(_ways(path, value, state))
        state.update(next(_leading(ways, state, done), ways[0] if ways else {}))


def _leading(
    ways: list[dict[str, Any]], state: Mapping[str, Any], wanted: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Keys with which all paths lead to what is wanted: to just that, or to more where only a kind was."""
    for alike in (_alike, _same):
        for keys in ways:
            changed = {**state, **keys}
            if all(alike(look_up(changed, path), value) for path, value in wanted.items()):
                yield keys


def _same(found: Any, wanted: Any) -> bool:
    """What is there may hold more than was asked for, where only its kind was."""
    if _alike(found, wanted):
        return True
    kind = isinstance(wanted, dict) and wanted.keys() <= {"v", OTHER}
    return kind and isinstance(found, dict) and wanted.keys() <= found.keys()


def _alike(found: Any, wanted: Any) -> bool:
    """Where only so many fields were asked for, it does not matter which; a key adds its version."""
    if found is NOTHING or wanted is NOTHING:
        return found is wanted
    if isinstance(found, dict) and isinstance(wanted, dict) and any(map(_is_filling, wanted)):
        return len(found) == len(wanted)
    return same(found, wanted) or (found == {"v": 1} and wanted == {})


def _is_filling(name: str) -> bool:
    """A field that is there to be counted."""
    return name.startswith(OTHER) and name != OTHER


def _ways(path: str, value: Any, state: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Keys with which a path leads to a value: a short key with fields, then longer ones."""
    steps = path.split(".")
    for at in range(2, len(steps)):
        key = ".".join(steps[:at])
        held = state.get(key, {"v": 1})
        for fields in (steps[at:], [".".join(steps[at:])]):
            if (made := with_field(held, fields, value)) is not None:
                yield {key: made}
    if isinstance(value, dict):
        yield {path: value if "v" in value else {"v": 1, **value}}


def with_field(held: Any, fields: list[str], value: Any) -> dict[str, Any] | None:
    """An object with one more field; None if something else is in its place. One that is only there to be
    counted makes room."""
    if not isinstance(held, dict):
        return None
    head, *rest = fields
    inner = with_field(held.get(head, {}), rest, value) if rest else value
    room = None if head in held else next(filter(_is_filling, held), None)
    kept = {name: one for name, one in held.items() if name != room}
    return None if rest and inner is None else {**kept, head: inner}


def read_twice(args: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Arguments in which a path leads to something in two ways: by a longer name, which hides the other, and
    by fields of what its first step names."""
    *above, last = path.split(".")
    shorter = args.get(above[0], {})
    there = look_up({"": shorter}, path[len(above[0]) :]) is not NOTHING
    made = shorter if there else with_field(shorter, [*above[1:], last], True)
    if made is None or (value is NOTHING and not above[1:]):
        return dict(args)
    longer = {".".join(above): {}} if value is NOTHING else {path: value}
    return {**args, above[0]: made, **longer}


def arguments_of(values: Mapping[str, Any], begin: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments in which every path leads to its value; `begin` is what they need besides."""
    args = dict(begin)
    for path in sorted(values, key=len):
        if values[path] is NOTHING:
            args.pop(path, None)
    for path in sorted(values, key=len):
        if (value := values[path]) is NOTHING:
            continue
        for fields in (path.split("."), [path]):
            made = with_field(args, fields, value)
            if made is not None and _same(look_up({"": made}, f".{path}"), value):
                args = made
                break
    return args


def leads_to(known: Mapping[str, Any], path: str, wanted: Any) -> bool:
    return _same(look_up(known, path), wanted)
