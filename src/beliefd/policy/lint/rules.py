"""What is the matter with rules: some never derive anything, others what is derived already or never read."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final

from msgspec import UNSET

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.paths import ABSENT
from beliefd.kernel.substrate.predicates import Malformed, parse, paths_read
from beliefd.kernel.substrate.rule_reading import Clause, Copy
from beliefd.kernel.substrate.rulebook import rule_set, rulebook
from beliefd.ledger.chain import policy_hash
from beliefd.policy.derived_places import derived_key, holds_copy, place
from beliefd.policy.lint.alone import negated_comparisons, only_outcome
from beliefd.policy.lint.domains import KERNEL
from beliefd.policy.lint.finding import Finding
from beliefd.policy.lint.names import unwritten
from beliefd.policy.lint.pairs import Comparing

MOST_CLAUSES: Final = 200
"""Of so many rules for one fact every two are compared."""


class Derived:
    """The rules of a policy, and what can be derived at all."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.rules = rule_set(policy, policy_hash(policy))
        # In the order in which they rest on each other: most that can fire are found in the first turn.
        self._clauses = [one for unit in self.rules.order.units for one in unit.clauses]
        self._possible: set[str] = set()
        self._firing: set[tuple[str, str]] = set()
        while sum(map(self._add, self._clauses)):
            pass

    def _add(self, clause: Clause) -> bool:
        """Can it fire, on what those derive that can? Each that can makes more of the others able to."""
        name = (clause.rule, clause.key)
        if name in self._firing or not self._can_fire(clause):
            return False
        self._firing.add(name)
        self._possible.add(clause.key)
        return True

    def _can_fire(self, clause: Clause) -> bool:
        if any(self.known(path) == (ABSENT,) for path in clause.copies):
            return False
        return clause.when is None or only_outcome(clause.when, self.rules.fits, self.known) is not False

    def known(self, path: str) -> tuple[Any, ...] | None:
        """All that can stand at a path, where that is known: by the kernel, or by rules."""
        found = place(self.rules, path)
        if found is None:
            return KERNEL.get(path)
        if found.key not in self._possible or found.value is ABSENT:
            return (ABSENT,)
        if isinstance(found.value, Copy) or holds_copy(found.value):
            return None
        return (ABSENT, found.value)

    def findings(self) -> Iterator[Finding]:
        for rule in self.rules.rules if self.rules.by_key else ():
            yield from self._of_rule(rule.key, rule.clauses)
        yield from self._shadowed()
        yield from self._unread()

    def _of_rule(self, key: str, clauses: tuple[Clause, ...]) -> Iterator[Finding]:
        if not any((key, one.key) in self._firing for one in clauses):
            text = "its condition never holds, or what it copies is never there: it never derives anything"
            yield Finding(code="NEVER_FIRES", constraint=key, message=text)
            return
        when = clauses[0].when
        if when is not None:
            if only_outcome(when, self.rules.fits, self.known):
                text = "its condition always holds: it derives outright, and the condition can go"
                yield Finding(code="IDLE_CONDITION", constraint=key, message=text)
            yield from negated_comparisons(key, when, "note")
        for path in sorted({path for one in clauses for path in one.paths}):
            yield from unwritten(key, path)

    def _shadowed(self) -> Iterator[Finding]:
        """Rules that derive one fact say the same of it: if one holds only where another does, it can go."""
        comparing, hidden = Comparing(self.rules.fits), set[tuple[str, str]]()
        for clauses in self.rules.by_key.values():
            able = [one for one in clauses[:MOST_CLAUSES] if (one.rule, one.key) in self._firing]
            for first, second in combinations(able, 2):
                if {(first.rule, first.key), (second.rule, second.key)} & hidden:
                    continue
                meeting = comparing.meeting(first.when, second.when)
                if meeting is None or not (meeting.first_implies or meeting.second_implies):
                    continue
                # Of two that hold together always, the later one is the one too many.
                one, by = (second, first) if meeting.second_implies else (first, second)
                hidden.add((one.rule, one.key))
                text = f"wherever it fires, `{by.rule}` derives `{one.key}` as well"
                yield Finding(code="SHADOWED", constraint=one.rule, other=by.rule, message=text)

    def _unread(self) -> Iterator[Finding]:
        """Facts that no constraint, rule or promise looks at. People and agents may all the same."""
        read = {key for path in self._paths() if (key := derived_key(self.rules, path)) is not None}
        for key in sorted(self.rules.by_key.keys() - read):
            text = f"nothing in the policy reads `{key}`, which it derives"
            rule = self.rules.by_key[key][0].rule
            yield Finding(code="UNREAD", constraint=rule, message=text, level="note")

    def _paths(self) -> Iterator[str]:
        for one in rulebook(self.policy, policy_hash(self.policy)).constraints:
            yield from () if one.when is None else paths_read(one.when)
        for clause in self._clauses:
            yield from (path for path in clause.paths if derived_key(self.rules, path) != clause.key)
        for asked in self.policy.prove or ():
            if asked.when is not UNSET:
                try:
                    yield from paths_read(parse(asked.when))
                except Malformed:
                    continue
