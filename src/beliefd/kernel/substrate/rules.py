"""The same judgements, fast: constraints indexed by subject and by the keys they read.

`Rules` is compiled once from a policy. `Truths` says which constraints fail in one state; a commit
updates it for the keys that changed, so that a decision costs the same with 10 constraints and with 10,000.
Only constraints that look at the call itself are evaluated when the call comes.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct
from rpds import HashTrieMap

from beliefd.kernel.substrate.constraints import (
    EVERYTHING,
    INVARIANTS,
    Action,
    Constraint,
    Failure,
    Judgement,
    Subject,
    failing,
    read_constraint,
)
from beliefd.kernel.substrate.paths import keys_of
from beliefd.kernel.substrate.predicates import SchemaCheck, paths_read, reads_call

NO_FAILURES: "Final[HashTrieMap[str, Failure]]" = HashTrieMap()


class Rules:
    """Constraints of one policy, ready to be asked."""

    __slots__ = ("allows", "by_read", "called", "constraints", "fits", "fixed", "invariants", "read_by")

    def __init__(self, raw: Mapping[str, Any], fits: SchemaCheck) -> None:
        self.fits = fits
        read = [read_constraint(key, raw[key]) for key in sorted(raw)]
        self.invariants: tuple[Constraint, ...] = tuple(one for one in read if one.key.startswith(INVARIANTS))
        self.constraints: dict[str, Constraint] = {
            one.key: one for one in read if not one.key.startswith(INVARIANTS)
        }
        self.fixed: dict[Subject, list[Constraint]] = {}
        self.called: dict[Subject, list[Constraint]] = {}
        self.allows: dict[Subject, tuple[str, ...]] = {}
        self.by_read: dict[str, list[Constraint]] = {}
        self.read_by: dict[Subject, frozenset[str]] = {}
        read_keys: dict[Subject, set[str]] = {}
        for constraint in self.constraints.values():
            self._file(constraint)
            if constraint.when is not None:
                keys = (key for path in paths_read(constraint.when) for key in keys_of(path))
                read_keys.setdefault(constraint.subject, set()).update(keys)
        self.read_by = {subject: frozenset(keys) for subject, keys in read_keys.items()}

    def _file(self, constraint: Constraint) -> None:
        when = constraint.when
        if constraint.effect == "allow" and constraint.malformed is None:
            self.allows[constraint.subject] = (*self.allows.get(constraint.subject, ()), constraint.key)
        if when is not None and reads_call(when):
            self.called.setdefault(constraint.subject, []).append(constraint)
            return
        self.fixed.setdefault(constraint.subject, []).append(constraint)
        for path in paths_read(when) if when is not None else ():
            for key in keys_of(path):
                # A path may mean a key or a field of a shorter key: a change of either can matter.
                self.by_read.setdefault(key, []).append(constraint)

    def truths(self, state: Mapping[str, Any]) -> "Truths":
        """What stands in the way in `state`, worked out in full."""
        failures: dict[Subject, HashTrieMap[str, Failure]] = {}
        for subject, constraints in self.fixed.items():
            found = {}
            for constraint in constraints:
                code = failing(constraint, state, self.fits)
                if code is not None:
                    found[constraint.key] = Failure(constraint, code)
            failures[subject] = HashTrieMap(found)
        return Truths(self, HashTrieMap(failures))

    def reads(self, action: Action) -> frozenset[str]:
        """The keys that judging an action looks at."""
        return frozenset().union(*(self.read_by.get(subject, frozenset()) for subject in subjects_of(action)))

    def broken_invariants(self, state: Mapping[str, Any]) -> tuple[Failure, ...]:
        """Invariants that `state` does not keep; they are about states, so the call plays no part."""
        found = ((one, failing(one, state, self.fits)) for one in self.invariants)
        return tuple(Failure(one, code) for one, code in found if code is not None)


def subjects_of(action: Action) -> list[Subject]:
    """Every subject that names an action."""
    subjects = [EVERYTHING, *(Subject(capability=name) for name in action.capabilities)]
    if action.tool_id is not None:
        subjects.append(Subject(tool_id=action.tool_id))
    return subjects


class Truths(Struct, frozen=True):
    """Which constraints fail in one state, by subject. Immutable: a commit gives a new value."""

    rules: Rules
    failures: "HashTrieMap[Subject, HashTrieMap[str, Failure]]"

    def after(self, state: Mapping[str, Any], changed: Iterable[str]) -> "Truths":
        """The truths in `state`, which differs from ours in the changed keys only."""
        failures = self.failures
        seen: set[str] = set()
        for key in changed:
            for constraint in self.rules.by_read.get(key, ()):
                if constraint.key in seen:
                    continue
                seen.add(constraint.key)
                code = failing(constraint, state, self.rules.fits)
                held = failures[constraint.subject]
                if code is not None:
                    held = held.insert(constraint.key, Failure(constraint, code))
                elif constraint.key in held:
                    held = held.remove(constraint.key)
                failures = failures.insert(constraint.subject, held)
        return Truths(self.rules, failures)

    def judge(self, state: Mapping[str, Any], action: Action) -> Judgement:
        """The judgement on an action; the same as `constraints.judge`, in any order."""
        subjects = subjects_of(action)
        rules = self.rules
        failures: list[Failure] = []
        allows: list[str] = []
        for subject in subjects:
            allows.extend(rules.allows.get(subject, ()))
            failures.extend(self.failures.get(subject, NO_FAILURES).values())
        failures.extend(self._called(state, action, subjects))
        if failures and allows:
            standing = {item.constraint.key for item in failures}
            allows = [key for key in allows if key not in standing]
        return Judgement(tuple(allows), tuple(failures))

    def _called(self, state: Mapping[str, Any], action: Action, subjects: list[Subject]) -> list[Failure]:
        asked = [one for subject in subjects for one in self.rules.called.get(subject, ())]
        if not asked:
            return []
        known = action.known(state)
        found = ((one, failing(one, known, self.rules.fits)) for one in asked)
        return [Failure(one, code) for one, code in found if code is not None]
