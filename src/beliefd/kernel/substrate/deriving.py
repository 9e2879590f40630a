"""What rules derive in a state, kept up to date: a change costs what it touches, whatever else there is.

`RuleSet` is compiled once from a policy. `settle` works out again what read a key that has changed, then what
read that, in the order of `rule_graph`; what nothing touched stays as it is.
"""

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Any, Final

from msgspec import Struct
from rpds import HashTrieMap

from beliefd.kernel.canonical import canonical
from beliefd.kernel.parts import Growing
from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from beliefd.kernel.substrate.constraints import NEWEST, TEXT_TOO_LONG, Reason
from beliefd.kernel.substrate.derived import DerivedFact, Source
from beliefd.kernel.substrate.operators import SchemaCheck
from beliefd.kernel.substrate.paths import ABSENT, keys_of, same
from beliefd.kernel.substrate.policy_keys import is_of_policy
from beliefd.kernel.substrate.predicates import Misfit, read_through
from beliefd.kernel.substrate.rule_graph import MAX_STRATA, Order, Unit, in_order
from beliefd.kernel.substrate.rule_reading import (
    MAX_BYTES,
    MAX_NESTED,
    RULES,
    Clause,
    Rule,
    TooLarge,
    Unjudged,
    read_rule,
)
from beliefd.kernel.substrate.rule_room import Room

MAX_RULES: Final = 1_000


class RuleProblem(Struct, frozen=True):
    """What is wrong with the rules of a policy: in which of them, if in one, and where."""

    message: str
    rule: str = ""
    misfit: Misfit = Misfit()


class Settled(Struct):
    """What has changed: by key what is derived now, and what fell. `size` is that of all derived facts."""

    size: int
    set: dict[str, DerivedFact] = {}
    fell: list[str] = []
    added: int = 0

    def take(self, key: str, old: Any, new: DerivedFact | None) -> None:
        """Count a fact that is another than before; `old` is its value, or nothing."""
        if old is not ABSENT:
            self.size -= weight(key, old)
        if new is None:
            self.fell.append(key)
            return
        self.set[key] = new
        self.size += (more := weight(key, new.value))
        self.added += more
        if self.added > MAX_BYTES:
            raise TooLarge(new.rule, key)


def weight(key: str, value: Any) -> int:
    return len(key) + len(canonical(value))


class RuleSet:
    """The rules of one policy, ready to be applied. `known` are the schemas that they may name."""

    __slots__ = (
        "by_key",
        "deep",
        "fits",
        "order",
        "parents",
        "problems",
        "reads_policy",
        "room",
        "rules",
        "strict",
        "touched_by",
    )

    def __init__(
        self,
        raw: Mapping[str, Any],
        fits: SchemaCheck,
        known: Container[str] | None = None,
        arbitration: ArbitrationPolicy = NEWEST,
    ) -> None:
        self.fits, self.strict = fits, arbitration.strict
        self.rules = [read_rule(key, raw[key], known, arbitration) for key in sorted(raw)[: MAX_RULES + 1]]
        self.by_key: dict[str, list[Clause]] = {}
        for clause in (one for rule in self.rules for one in rule.clauses):
            self.by_key.setdefault(clause.key, []).append(clause)
        self.problems = list(_problems(self.rules, self.by_key, len(raw)))
        self.order = Order() if self.problems else in_order(self.by_key)
        self.problems += _loops(self.order, self.by_key)
        if self.problems:
            # INVARIANT: rules that cannot all be applied derive nothing, and nothing is let through by them.
            self.by_key, self.order = {}, Order()
        self.touched_by: dict[str, set[int]] = {}
        for number, unit in enumerate(self.order.units):
            for path in {path for one in unit.clauses for path in one.paths}:
                for key in keys_of(path):
                    self.touched_by.setdefault(key, set()).add(number)
        read = (path for some in self.by_key.values() for one in some for path in one.paths)
        self.deep = read_through(read) if self.strict else {}
        self.reads_policy = any(map(is_of_policy, self.touched_by))
        self.parents = _parents(self.by_key)
        self.room = Room(self.order, self.by_key) if self.strict else None

    @property
    def problem(self) -> Reason | None:
        """Why nothing can be decided by these rules; None if it can."""
        if not self.problems:
            return None
        first = self.problems[0]
        named = f"`{first.rule}` cannot be read" if first.rule else "the rules cannot be applied"
        return Reason(
            code="MALFORMED_RULE", text=f"{named}: {first.message}", remedy="rules that can be applied"
        )

    def claimed(self, key: str, value: Any = ABSENT) -> str | None:
        """The derived fact that a write by hand would speak for; None if there is none.

        INVARIANT: nobody but its rule says what stands at the path of a derived fact: not by its key, not by
        a longer key, and not by a field in the value of a shorter one.
        """
        found = next((one for one in keys_of(key) if one in self.by_key), None)
        if found is None and key in self.parents:
            found = _answered(value, self.parents[key])
        return found

    def settle(
        self, values: "HashTrieMap[str, Any]", held: Growing[Source], size: int, changed: Iterable[str]
    ) -> Settled:
        """What is derived in `values`, which differs in the changed keys from what `held` was derived in."""
        done = Settled(size, {}, [])
        changed = tuple(changed)
        if self.room is not None:
            self.room.check(values, changed)
        waiting = list({number for key in changed for number in self.touched_by.get(key, ())})
        return self._work(values, held, waiting, done)

    def settle_anew(self, values: "HashTrieMap[str, Any]", held: Growing[Source], size: int) -> Settled:
        """What is derived in `values`, where `held` was derived by other rules."""
        done = Settled(size, {}, [])
        for key in sorted(values):
            if key in held:
                if key not in self.by_key:
                    done.take(key, values[key], None)
            elif self.claimed(key, values[key]) is not None:
                # INVARIANT: what was written by hand before there was a rule does not pass for derived.
                done.fell.append(key)
        for key in done.fell:
            values, held = values.remove(key), held.discard(key)
        done = self._work(values, held, list(range(len(self.order.units))), done)
        # What was written by hand and is derived now did not fall: it is another.
        done.fell = sorted(set(done.fell) - done.set.keys())
        return done

    def _work(
        self, values: "HashTrieMap[str, Any]", held: Growing[Source], waiting: list[int], done: Settled
    ) -> Settled:
        heapify(waiting)
        seen = set(waiting)
        while waiting:
            number = heappop(waiting)
            values, moved = self._redo(self.order.units[number], values, held, done)
            # Units come after all that they read, so each is worked out once, on what is final.
            for one in {one for key in moved for one in self.touched_by.get(key, ())} - seen:
                seen.add(one)
                heappush(waiting, one)
        if done.size > MAX_BYTES:
            raise self._largest(values, held, done)
        return done

    def _largest(self, values: "HashTrieMap[str, Any]", held: Growing[Source], done: Settled) -> TooLarge:
        """Of all that is derived, what takes up most; before, of what is new."""
        facts = {key: (fact.value, fact.rule) for key, fact in done.set.items()}
        for key in sorted(held) if self.strict else ():
            if key in values:
                facts.setdefault(key, (values[key], held[key].rule))
        key = max(facts, key=lambda key: weight(key, facts[key][0]))
        return TooLarge(facts[key][1], key)

    def _redo(
        self, unit: Unit, values: "HashTrieMap[str, Any]", held: Growing[Source], done: Settled
    ) -> "tuple[HashTrieMap[str, Any], list[str]]":
        """The values with what the unit derives, and which of its keys have another value than before."""
        bare = values
        for key in unit.keys:
            bare = bare.discard(key)
        facts = self._rounds(unit, bare)
        moved = []
        for key in unit.keys:
            old, new = values.get(key, ABSENT) if key in held else ABSENT, facts.get(key)
            if new is not None:
                bare = bare.insert(key, new.value)
            if _is_other(old, new):
                moved.append(key)
                done.take(key, old, new)
            elif new is not None and Source(new.rule, new.inputs) != held[key]:
                done.take(key, old, new)
        return bare, moved

    def _rounds(self, unit: Unit, values: "HashTrieMap[str, Any]") -> dict[str, DerivedFact]:
        """In each round all that holds on what the rounds before it leave; of several rules the first."""
        facts: dict[str, DerivedFact] = {}
        asked: tuple[Clause, ...] = unit.clauses
        while asked:
            fired: dict[str, DerivedFact] = {}
            for one in asked:
                if one.key not in facts and one.key not in fired:
                    fact = one.fact(values, self.fits)
                    if fact is not None:
                        fired[one.key] = fact
            for key, fact in fired.items():
                values = values.insert(key, fact.value)
            facts.update(fired)
            again = {(one.rule, one.key): one for key in fired for one in unit.readers.get(key, ())}
            asked = tuple(again[name] for name in sorted(again))
        return facts


def _problems(rules: list[Rule], by_key: Mapping[str, list[Clause]], count: int) -> Iterator[RuleProblem]:
    if count > MAX_RULES:
        yield RuleProblem(f"there are {count} rules, and {MAX_RULES} at most are applied")
    for rule in rules:
        if not rule.key.startswith(RULES) or rule.key == RULES:
            named = f"{RULES}{rule.key.rpartition(RULES)[2].strip('.') or 'NAME'}"
            misfit = Misfit("", rule.key, (named,))
            yield RuleProblem(f"`{rule.key}` is not in `{RULES}*`", rule.key, misfit)
        if rule.malformed is not None:
            yield RuleProblem(rule.malformed, rule.key, rule.misfit or Misfit())
    for key, clauses in sorted(by_key.items()):
        first = clauses[0]
        for other in clauses[1:]:
            if first.copies or other.copies or not same(first.value, other.value):
                text = f"`{first.rule}` and it both derive `{key}`, and not as the same literal value"
                yield RuleProblem(text, other.rule, Misfit(f"derive.{key}"))
        above = next((one for one in keys_of(key) if one != key and one in by_key), None)
        if above is not None:
            text = f"`{key}` would stand inside `{above}`, which `{by_key[above][0].rule}` derives"
            yield RuleProblem(text, first.rule, Misfit(f"derive.{key}"))


def _loops(order: Order, by_key: Mapping[str, list[Clause]]) -> Iterator[RuleProblem]:
    if order.loop is not None:
        keys, through = order.loop.keys, order.loop.through
        circle = " -> ".join(f"`{key}`" for key in keys)
        text = f"{circle}: `{keys[0]}` would rest on itself, by `{through}`"
        yield RuleProblem(text, by_key[keys[0]][0].rule, Misfit("when" if through != "from" else "derive"))
    if order.strata > MAX_STRATA:
        yield RuleProblem(f"the rules have {order.strata} strata, and {MAX_STRATA} at most are applied")


def _parents(by_key: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """By shorter key: what is left of the path to a derived fact, and that fact."""
    found: dict[str, list[tuple[str, str]]] = {}
    for key in sorted(by_key):
        for shorter in keys_of(key):
            if shorter != key:
                found.setdefault(shorter, []).append((key[len(shorter) + 1 :], key))
    return found


def _is_other(old: Any, new: DerivedFact | None) -> bool:
    if new is None or old is ABSENT:
        return (old is ABSENT) != (new is None)
    return not same(old, new.value)


def _answered(value: Any, paths: list[tuple[str, str]]) -> str | None:
    """The derived fact that a value holds something for, at the rest of its path or below; None if none.

    Names of fields may hold dots themselves. Each name is looked at once, however many paths there are.
    """
    if not isinstance(value, dict):
        return None
    names = sorted(value)
    below: dict[str, list[tuple[str, str]]] = {}
    for rest, derived in paths:
        at = bisect_left(names, f"{rest}.")
        if rest in value or (at < len(names) and names[at].startswith(f"{rest}.")):
            return derived
        for name in keys_of(rest):
            if name in value:
                below.setdefault(name, []).append((rest[len(name) + 1 :], derived))
    inner = (_answered(value[name], left) for name, left in below.items())
    return next((one for one in inner if one is not None), None)


def too_large(error: TooLarge) -> Reason:
    if isinstance(error, Unjudged):
        text = f"whether `{error.rule}` derives `{error.key}` cannot be said: {error.why}"
        return Reason(code=TEXT_TOO_LONG, text=text, keys=(error.key,), remedy="a shorter text")
    if error.path:
        most = f"take up {error.room} bytes and be nested {error.nested} deep at most"
        text = f"`{error.rule}` copies `{error.path}`, and what stands there may {most}"
        return Reason(code="DERIVED_TOO_LARGE", text=text, keys=(error.path,), remedy="a smaller value there")
    text = (
        f"`{error.rule}` derives `{error.key}`, and all that is derived may take up {MAX_BYTES} bytes"
        f" and be nested {MAX_NESTED} deep at most"
    )
    return Reason(code="DERIVED_TOO_LARGE", text=text, keys=(error.key,), remedy="less that rules copy")
