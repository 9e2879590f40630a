"""The same judgements, fast: constraints indexed by subject and by the keys they read.

`ConstraintIndex` is compiled once from a policy. `Truths` says which constraints fail in one state; a commit
updates it for the keys that changed, so that a decision costs the same with 10 constraints and with 10,000.
Only constraints that look at the call itself are evaluated when the call comes.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct
from rpds import HashTrieMap

from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from beliefd.kernel.substrate.constraints import (
    EVERYTHING,
    INVARIANTS,
    NEWEST,
    Action,
    Constraint,
    Failure,
    Judgement,
    Subject,
    ambiguous,
    failure_of,
    read_constraint,
)
from beliefd.kernel.substrate.operators import SchemaCheck
from beliefd.kernel.substrate.paths import keys_of
from beliefd.kernel.substrate.predicates import paths_read, read_through, reads_call

NO_FAILURES: "Final[HashTrieMap[str, Failure]]" = HashTrieMap()
NOTHING_UNCLEAR: "Final[HashTrieMap[Subject, HashTrieMap[str, Failure]]]" = HashTrieMap()
INVARIANT: Final = Subject(tool_id="", capability="")
"""Under this subject, which names no action, invariants are kept: after a commit their truth is at hand."""


class ConstraintIndex:
    """Constraints of one policy, ready to be asked. `known` are the schemas that they may name.

    Those that depend on the call or on the time are judged per call, all others once per change of a key.
    """

    __slots__ = ("allows", "by_read", "called", "constraints", "deep", "fits", "fixed", "read_by")

    def __init__(
        self,
        raw: Mapping[str, Any],
        fits: SchemaCheck,
        known: Container[str] | None = None,
        rules: ArbitrationPolicy = NEWEST,
    ) -> None:
        self.fits = fits
        self.constraints = [read_constraint(key, raw[key], known, rules) for key in sorted(raw)]
        self.fixed: dict[Subject, list[Constraint]] = {INVARIANT: []}
        self.called: dict[Subject, list[Constraint]] = {}
        self.allows: dict[Subject, int] = {}
        self.by_read: dict[str, list[tuple[Subject, Constraint]]] = {}
        read_keys: dict[Subject, set[str]] = {}
        for one in self.constraints:
            if one.key.startswith(INVARIANTS):
                self._file(INVARIANT, one)
            # A malformed invariant denies what its subject names, as any other malformed constraint does.
            if not one.key.startswith(INVARIANTS) or one.malformed is not None:
                self._file(one.subject, one)
                read_keys.setdefault(one.subject, set()).update(_keys_read(one))
        self.deep = read_through(path for one in self.constraints for path in one.deep)
        self.read_by = {subject: frozenset(keys) for subject, keys in read_keys.items()}

    def _file(self, subject: Subject, constraint: Constraint) -> None:
        when = constraint.when
        if constraint.effect == "allow":
            self.allows[subject] = self.allows.get(subject, 0) + 1
        if when is not None and reads_call(when) and subject != INVARIANT:
            self.called.setdefault(subject, []).append(constraint)
            return
        self.fixed.setdefault(subject, []).append(constraint)
        for key in _keys_read(constraint):
            self.by_read.setdefault(key, []).append((subject, constraint))

    def truths(self, state: Mapping[str, Any]) -> "Truths":
        """What stands in the way in `state`, worked out in full."""
        failures: dict[Subject, HashTrieMap[str, Failure]] = {}
        for subject, constraints in self.fixed.items():
            found = {}
            for constraint in constraints:
                failure = failure_of(constraint, state, self.fits)
                if failure is not None:
                    found[constraint.key] = failure
            failures[subject] = HashTrieMap(found)
        return Truths(self, HashTrieMap(failures), self._unclear(state))

    def _unclear(self, state: Mapping[str, Any]) -> "HashTrieMap[Subject, HashTrieMap[str, Failure]]":
        """What cannot be read in one way only, by subject; most often nothing."""
        unclear: dict[Subject, HashTrieMap[str, Failure]] = {}
        for subject, constraint in ((subject, one) for subject, some in self.fixed.items() for one in some):
            if constraint.deep and (found := ambiguous(constraint, state)) is not None:
                unclear[subject] = unclear.get(subject, NO_FAILURES).insert(constraint.key, found)
        return HashTrieMap(unclear)

    def reads(self, action: Action) -> frozenset[str]:
        """The keys that judging an action looks at."""
        return frozenset().union(*(self.read_by.get(subject, frozenset()) for subject in subjects_of(action)))

    def allowing(self, state: Mapping[str, Any], action: Action) -> list[str]:
        """The constraints that allow an action, by name: for people, so it may take its time."""
        known = action.known(state)
        return [
            one.key
            for one in self.constraints
            if one.effect == "allow"
            and not one.key.startswith(INVARIANTS)
            and one.names(action)
            and failure_of(one, known, self.fits) is None
        ]


def _keys_read(constraint: Constraint) -> set[str]:
    """A path may mean a key or a field of a shorter key: a change of either can matter."""
    if constraint.when is None:
        return set()
    return {key for path in paths_read(constraint.when) for key in keys_of(path)}


def subjects_of(action: Action) -> list[Subject]:
    """Every subject that names an action."""
    subjects = [EVERYTHING, *(Subject(capability=name) for name in dict.fromkeys(action.capabilities))]
    if action.tool_id is not None:
        subjects.append(Subject(tool_id=action.tool_id))
    return subjects


class Truths(Struct, frozen=True):
    """Which constraints fail in one state, by subject. Immutable: a commit gives a new value."""

    rules: ConstraintIndex
    failures: "HashTrieMap[Subject, HashTrieMap[str, Failure]]"
    unclear: "HashTrieMap[Subject, HashTrieMap[str, Failure]]" = NOTHING_UNCLEAR

    def after(self, state: Mapping[str, Any], changed: Iterable[str]) -> "Truths":
        """The truths in `state`, which differs from ours in the changed keys only."""
        failures, unclear = self.failures, self.unclear
        seen: set[tuple[Subject, str]] = set()
        for key in changed:
            for subject, constraint in self.rules.by_read.get(key, ()):
                if (subject, constraint.key) in seen:
                    continue
                seen.add((subject, constraint.key))
                failure = failure_of(constraint, state, self.rules.fits)
                held = failures[subject]
                if failure is not None:
                    failures = failures.insert(subject, held.insert(constraint.key, failure))
                elif constraint.key in held:
                    failures = failures.insert(subject, held.remove(constraint.key))
                if constraint.deep:
                    twofold, others = ambiguous(constraint, state), unclear.get(subject, NO_FAILURES)
                    if twofold is not None:
                        unclear = unclear.insert(subject, others.insert(constraint.key, twofold))
                    elif constraint.key in others:
                        unclear = unclear.insert(subject, others.remove(constraint.key))
        return Truths(self.rules, failures, unclear)

    def judge(self, state: Mapping[str, Any], action: Action) -> Judgement:
        """The judgement on an action; the same as `constraints.judge`, in any order."""
        subjects = subjects_of(action)
        failures: list[Failure] = []
        allows = 0
        for subject in subjects:
            allows += self.rules.allows.get(subject, 0)
            failures.extend(self.failures.get(subject, NO_FAILURES).values())
            if action.tool_id is not None:
                failures.extend(self.unclear.get(subject, NO_FAILURES).values())
        failures.extend(self._called(state, action, subjects))
        standing = allows - sum(item.constraint.effect == "allow" for item in failures)
        return Judgement(standing > 0, tuple(failures))

    @property
    def broken(self) -> tuple[Failure, ...]:
        """Invariants that the state does not keep; they are about states, so the call plays no part."""
        return tuple(self.failures[INVARIANT].values())

    def _called(self, state: Mapping[str, Any], action: Action, subjects: list[Subject]) -> list[Failure]:
        asked = [one for subject in subjects for one in self.rules.called.get(subject, ())]
        if not asked:
            return []
        known = action.known(state)
        found = (failure_of(one, known, self.rules.fits) for one in asked)
        failures = [failure for failure in found if failure is not None]
        if action.tool_id is not None:
            failures += [twofold for one in asked if (twofold := ambiguous(one, known)) is not None]
        return failures
