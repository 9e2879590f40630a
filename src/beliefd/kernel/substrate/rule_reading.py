"""Rules (`rule.*`), version 1: what they say, and the facts that they put together from a state.

A rule derives facts `when` its condition holds. INVARIANT: it reads the state and the policy and nothing
else, so what it derives is there as long as what it read is, and no longer.
"""

from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.canonical import canonical
from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from beliefd.kernel.substrate.constraints import NEWEST, condition
from beliefd.kernel.substrate.derived import DerivedFact
from beliefd.kernel.substrate.operators import MAX_PATH, SchemaCheck
from beliefd.kernel.substrate.paths import ABSENT, keys_of, look_up
from beliefd.kernel.substrate.policy_keys import is_of_policy
from beliefd.kernel.substrate.predicates import (
    CALL_FACTS,
    Malformed,
    Misfit,
    Predicate,
    holds,
    is_of_call,
    parse,
    paths_read,
    reads_call,
)
from beliefd.kernel.substrate.text_bounds import TextTooLong

RULES: Final = "rule."
FACTS: Final = "fact."
FIELDS: Final = frozenset({"v", "when", "derive"})
FROM: Final = "from"
MAX_FACTS: Final = 100
"""So many facts one rule may derive, and so many values it may copy into one."""
MAX_BYTES: Final = 256 * 1024
"""All that is derived in a session is at most so large: rules cannot be made to multiply what is written."""
MAX_NESTED: Final = 32
"""So deep a derived value may be: it stands in events, which have a bound of their own."""


class TooLarge(Exception):
    """More would be derived than may be; `rule` and `key` say by what. With a `path`, what stands there is
    larger than the `room` that there is for a copy of it, or nested deeper than `nested`."""

    def __init__(self, rule: str, key: str, path: str = "", room: int = 0, nested: int = 0) -> None:
        super().__init__(rule, key, path, room, nested)
        self.rule, self.key, self.path, self.room, self.nested = rule, key, path, room, nested


class Unjudged(TooLarge):
    """Whether a rule fires hangs on a text that is too long for its pattern; `why` says on which."""

    def __init__(self, rule: str, key: str, why: str) -> None:
        super().__init__(rule, key)
        self.why = why


class Copy(Struct, frozen=True):
    """Stands in a value for what a path holds."""

    path: str


class Clause(Struct, frozen=True):
    """One fact that one rule derives. `copies` are the paths whose values go into it."""

    rule: str
    key: str
    when: Predicate | None
    value: Any
    copies: tuple[str, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        """Everything it looks at."""
        return frozenset(self.copies) | (frozenset() if self.when is None else paths_read(self.when))

    def fact(self, state: Mapping[str, Any], fits: SchemaCheck) -> DerivedFact | None:
        """What it derives in this state; None if it does not fire, or if there is nothing to copy."""
        try:
            if self.when is not None and not holds(self.when, state, fits):
                return None
        except TextTooLong as error:
            raise Unjudged(self.rule, self.key, str(error)) from None
        value = self._put_together(state)
        if value is ABSENT:
            return None
        return DerivedFact(rule=self.rule, inputs=self._inputs(state), value=value)

    def _put_together(self, state: Mapping[str, Any]) -> Any:
        if not self.copies:
            return self.value
        found = {path: look_up(state, path) for path in self.copies}
        if any(value is ABSENT for value in found.values()):
            return ABSENT
        left = MAX_BYTES
        for path in self.copies:
            # What was written may be large: it is weighed before it is put in, and never many times over.
            left -= len(canonical(found[path]))
            if left < 0:
                raise TooLarge(self.rule, self.key)
        value = _filled(self.value, found)
        if is_deeper(value, MAX_NESTED):
            raise TooLarge(self.rule, self.key)
        return value

    def _inputs(self, state: Mapping[str, Any]) -> tuple[str, ...]:
        """The keys that its paths lead to. Of the policy there is one key, so there the path says which."""
        found: set[str] = set()
        for path in self.paths:
            if is_of_policy(path):
                found.update({path} if look_up(state, path) is not ABSENT else ())
            elif (key := next((one for one in keys_of(path) if one in state), None)) is not None:
                found.add(key)
        return tuple(sorted(found))


class Rule(Struct, frozen=True):
    """A rule as read. `malformed` says why it could not be, `misfit` where and what could stand there."""

    key: str
    clauses: tuple[Clause, ...] = ()
    malformed: str | None = None
    misfit: Misfit | None = None


def read_rule(
    key: str, raw: Any, known: Container[str] | None = None, arbitration: ArbitrationPolicy = NEWEST
) -> Rule:
    """INVARIANT: never raises; `known` are the schemas that may be named."""
    try:
        return Rule(key, tuple(_clauses(key, raw, known, arbitration)))
    except Malformed as error:
        return Rule(key, malformed=str(error), misfit=error.misfit)


def _clauses(
    key: str, raw: Any, known: Container[str] | None, arbitration: ArbitrationPolicy
) -> Iterator[Clause]:
    if not isinstance(raw, dict):
        raise Malformed("it is not an object")
    if unknown := sorted(str(name) for name in raw if name not in FIELDS):
        left = sorted(FIELDS - raw.keys())
        raise Malformed(f"`{unknown[0]}` is not a field of a rule", unknown[0], unknown[0], left)
    if raw.get("v") != 1 or isinstance(raw.get("v"), bool):
        raise Malformed("`v` is not 1", "v", raw.get("v"), ["1"])
    when = None
    if raw.get("when") is not None:
        read = parse(raw["when"], engine=arbitration.engine, widely=arbitration.strict)
        when = condition(read, known)
    if when is not None and reads_call(when):
        raise Malformed("a rule reads the state, and `when` is about a call or the time", "when")
    derive = raw.get("derive")
    if not isinstance(derive, dict) or not 0 < len(derive) <= MAX_FACTS:
        raise Malformed(f"`derive` is not an object of 1 to {MAX_FACTS} facts", "derive")
    for name in sorted(map(str, derive)):
        _refuse_name(name)
        copies: list[str] = []
        value = _template(derive[name], f"derive.{name}", copies, 0)
        if not _is_versioned(derive[name]):
            raise Malformed(f"`derive.{name}` needs an object with a whole `v`", f"derive.{name}")
        yield Clause(key, name, when, value, tuple(copies))


def _refuse_name(name: str) -> None:
    at = f"derive.{name}"
    if not name.startswith(FACTS) or name == FACTS or len(name) > MAX_PATH:
        raise Malformed(f"`{at}`: rules derive facts, and `{name}` is not in `{FACTS}*`", at, name)
    if is_of_call(name):
        raise Malformed(f"`{at}`: `{CALL_FACTS}` is found out about every call, and never derived", at, name)


def _is_versioned(value: Any) -> bool:
    return isinstance(value, dict) and type(value.get("v")) is int and value["v"] >= 1


def _template(raw: Any, at: str, copies: list[str], depth: int) -> Any:
    """The value with a `Copy` wherever an object holds `from` and nothing else."""
    if depth > MAX_NESTED:
        raise Malformed(f"`{at}` is nested deeper than {MAX_NESTED}", at)
    if isinstance(raw, dict) and raw.keys() == {FROM}:
        return _copy(raw[FROM], at, copies)
    if isinstance(raw, dict):
        return {name: _template(item, f"{at}.{name}", copies, depth + 1) for name, item in raw.items()}
    if isinstance(raw, list | tuple):
        return [_template(item, f"{at}[{number}]", copies, depth + 1) for number, item in enumerate(raw)]
    return raw


def _copy(path: Any, at: str, copies: list[str]) -> Copy:
    place = f"{at}.{FROM}"
    if not isinstance(path, str) or not 0 < len(path) <= MAX_PATH:
        raise Malformed(f"`{place}` is not a path", place, path)
    if is_of_call(path):
        raise Malformed(f"`{place}`: a rule reads the state, and `{path}` is about a call", place, path)
    copies.append(path)
    if len(copies) > MAX_FACTS:
        raise Malformed(f"`{at}`: more than {MAX_FACTS} values are copied", at)
    return Copy(path)


def _filled(template: Any, found: Mapping[str, Any]) -> Any:
    if isinstance(template, Copy):
        return found[template.path]
    if isinstance(template, dict):
        return {name: _filled(item, found) for name, item in template.items()}
    return [_filled(item, found) for item in template] if isinstance(template, list) else template


def is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list | tuple):
        return False
    items = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(is_deeper(item, levels - 1) for item in items)
