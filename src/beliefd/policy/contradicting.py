"""Invariants that together forbid every state: under them, nothing could ever be written."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import Final

from beliefd.kernel.substrate.constraints import INVARIANTS, Constraint, failing
from beliefd.kernel.substrate.operators import SchemaCheck
from beliefd.kernel.substrate.predicates import paths_read
from beliefd.policy.lint.domains import states

MOST_STATES: Final = 50_000
"""So many states are looked at for one policy."""
SOME: Final = (2, 3)
"""So many invariants are compared with each other, and then all that read the same."""


def contradictory(constraints: Iterable[Constraint], fits: SchemaCheck) -> Iterator[tuple[str, ...]]:
    """Keys of invariants of which no state keeps all, as few as can be said. What a person can say yes to
    forbids nothing; where there are too many states to look at, nothing is said."""
    left = [MOST_STATES]
    for group in _reading_the_same([one for one in constraints if _forbids(one)]):
        tried = (some for size in SOME for some in combinations(group, size))
        for some in chain(tried, [tuple(group)] if len(group) > max(SOME) else []):
            if left[0] <= 0:
                return
            if _excludes_all(some, fits, left):
                yield tuple(one.key for one in some)
                break


def _forbids(one: Constraint) -> bool:
    named = one.key.startswith(INVARIANTS) and one.malformed is None
    return named and one.when is not None and one.on_fail != "ask"


def _reading_the_same(known: Sequence[Constraint]) -> list[list[Constraint]]:
    """Groups of invariants of which none reads what one of another group does."""
    groups: list[tuple[set[str], list[Constraint]]] = []
    for one in known:
        paths = set() if one.when is None else set(paths_read(one.when))
        meeting = [group for group in groups if group[0] & paths]
        groups = [group for group in groups if not group[0] & paths]
        read = paths.union(*(group[0] for group in meeting))
        groups.append((read, [*(each for group in meeting for each in group[1]), one]))
    return [sorted(group, key=lambda one: one.key) for _, group in groups]


def _excludes_all(some: Sequence[Constraint], fits: SchemaCheck, left: list[int]) -> bool:
    over = states([one.when for one in some if one.when is not None], fits)
    if over is None:
        return False
    for state in over:
        left[0] -= 1
        if not any(failing(one, state, fits) for one in some):
            return False
    return True
