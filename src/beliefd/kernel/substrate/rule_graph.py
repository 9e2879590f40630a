"""In which order rules are applied, so that each reads what is final (stratified, symbolic-substrate 4).

A fact rests on what its rules read. Facts that rest on each other are one unit; it is worked out as a whole,
by rounds. INVARIANT: inside a unit nothing is read but in ways that more facts can only make true, so there
is one answer, whatever order things were written in.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from beliefd.kernel.substrate.paths import keys_of
from beliefd.kernel.substrate.predicates import Predicate
from beliefd.kernel.substrate.rule_reading import FROM, Clause

MAX_STRATA: Final = 64
STEADY: Final = frozenset({"eq", "in", "exists", "schema"})
"""Operators that stay true when more is derived: a derived fact has one value, and is there or not."""

Reads = dict[str, str | None]
"""By key that is read: how, if more facts could make it false; None if they cannot."""


class Loop(Struct, frozen=True):
    """Facts that rest on each other in a way that has no answer: `keys` in a circle, the first reads the
    second `through` an operator."""

    keys: tuple[str, ...]
    through: str


class Unit(Struct, frozen=True):
    """Facts that are worked out together. `readers` are the clauses that read each of them."""

    keys: tuple[str, ...]
    clauses: tuple[Clause, ...]
    readers: dict[str, tuple[Clause, ...]]


class Order(Struct, frozen=True):
    """The units, each after all that it reads; or what stands in the way."""

    units: tuple[Unit, ...] = ()
    strata: int = 0
    loop: Loop | None = None


def in_order(clauses: Mapping[str, list[Clause]]) -> Order:
    """`clauses` are those that derive each key."""
    reads = {key: _reads(found, clauses) for key, found in clauses.items()}
    groups = _together(reads)
    strata: dict[str, int] = {}
    for group in groups:
        members = set(group)
        if (loop := _loop(members, reads)) is not None:
            return Order(loop=loop)
        before = [
            strata[read] + (how is not None)
            for key in group
            for read, how in reads[key].items()
            if read not in members
        ]
        strata.update(dict.fromkeys(group, max(before, default=0)))
    units = tuple(_unit(group, clauses, reads) for group in groups)
    return Order(units, 1 + max(strata.values(), default=0))


def _unit(group: list[str], clauses: Mapping[str, list[Clause]], reads: Mapping[str, Reads]) -> Unit:
    keys = tuple(sorted(group))
    own = sorted((one for key in keys for one in clauses[key]), key=lambda one: (one.rule, one.key))
    circular = len(keys) > 1 or keys[0] in reads[keys[0]]
    readers: dict[str, tuple[Clause, ...]] = {}
    for one in own if circular else ():
        for key in {key for path in one.paths for key in keys_of(path)} & set(keys):
            readers[key] = (*readers.get(key, ()), one)
    return Unit(keys, tuple(own), readers)


def _reads(found: list[Clause], derived: Mapping[str, object]) -> Reads:
    reads: Reads = {}
    for one in found:
        ways = [(path, FROM) for path in one.copies] + ([] if one.when is None else list(ways_read(one.when)))
        for path, how in ways:
            for key in keys_of(path):
                if key in derived:
                    reads[key] = reads.get(key) or how
    return reads


def ways_read(predicate: Predicate, under: str | None = None) -> Iterator[tuple[str, str | None]]:
    """Every path that it looks at, and the operator through which more facts could make it false."""
    if predicate.op in ("all", "any", "not"):
        for inner in predicate.args:
            yield from ways_read(inner, "not" if predicate.op == "not" else under)
    else:
        yield predicate.args[0], under or (None if predicate.op in STEADY else predicate.op)


def _loop(members: set[str], reads: Mapping[str, Reads]) -> Loop | None:
    for key in sorted(members):
        for read, how in sorted(reads[key].items()):
            if how is not None and read in members:
                return Loop((key, *_way(read, key, members, reads)), how)
    return None


def _way(start: str, end: str, members: set[str], reads: Mapping[str, Reads]) -> list[str]:
    """The shortest way from one member to another, both included."""
    came_from = {start: start}
    waiting = [start]
    for key in waiting:
        if key == end:
            break
        for read in sorted(members & reads[key].keys() - came_from.keys()):
            came_from[read] = key
            waiting.append(read)
    way = [end]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def _together(reads: Mapping[str, Reads]) -> list[list[str]]:
    """Strongly connected keys, each group after those that it reads (Tarjan, without recursion)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    open_: set[str] = set()
    groups: list[list[str]] = []
    for root in sorted(reads):
        if root in number:
            continue
        path: list[tuple[str, Iterator[str]]] = []
        _enter(root, number, low, stack, open_)
        path.append((root, iter(sorted(reads[root]))))
        while path:
            key, rest = path[-1]
            read = next(rest, None)
            if read is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[key])
                if low[key] == number[key]:
                    groups.append(_leave(key, stack, open_))
            elif read not in number:
                _enter(read, number, low, stack, open_)
                path.append((read, iter(sorted(reads[read]))))
            elif read in open_:
                low[key] = min(low[key], number[read])
    return groups


def _enter(key: str, number: dict[str, int], low: dict[str, int], stack: list[str], open_: set[str]) -> None:
    number[key] = low[key] = len(number)
    stack.append(key)
    open_.add(key)


def _leave(key: str, stack: list[str], open_: set[str]) -> list[str]:
    at = stack.index(key)
    group = stack[at:]
    del stack[at:]
    open_.difference_update(group)
    return group
