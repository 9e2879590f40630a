"""The fewest changes after which something passes: found by trying, so that it is known to pass.

What fails names the constraint that stands in the way, and only what that constraint reads can get it out of
the way. So the search changes one such value after the other, in ever longer rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.substrate.constraints import Constraint, Reason
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.paths import ABSENT, keys_of, same
from beliefd.kernel.substrate.predicates import Predicate, paths_read
from beliefd.kernel.substrate.rule_reading import Clause
from beliefd.kernel.substrate.rulebook import rule_set
from beliefd.policy.explaining.changing import ARGS, Target, Tried, changed, targets, value_at
from beliefd.policy.explaining.trials import Trial
from beliefd.policy.samples import by_path, is_exhaustive, named_in, telling
from beliefd.wanted import check_wanted

MOST_CHANGES: Final = 4
MOST_JUDGED: Final = 4_000
REASONS_PER_TURN: Final = 20
"""What fails for thousands of reasons takes as long as many that fail for a few, and counts as many."""
EACH_ARGUMENT: Final = 3
"""Of values that constraints do not tell apart, a schema of the tool may: so many arguments are tried."""

Row = tuple[tuple[Target, Any], ...]


class Found(Struct, frozen=True):
    """The changes, or None; whether `all` that could do was tried, and how often it was judged."""

    changes: Row | None
    whole: bool
    judged: int


class _Enough(Exception):
    """So often it may be judged."""


def smallest(trial: Trial, most: int = MOST_CHANGES, budget: int = MOST_JUDGED) -> Found:
    """INVARIANT: what is found passes, and nothing shorter that was tried does."""
    return _Search(trial, budget).run(most)


class _Search:
    def __init__(self, trial: Trial, budget: int) -> None:
        self._trial = trial
        self._budget = budget
        self._judged = 0
        self._spent = 0
        self._cut = False
        self._seen: set[frozenset[tuple[Target, str]]] = set()
        rules = trial.rules
        self._constraints = {one.key: one for one in rules.constraints}
        concerned = [one for one in rules.constraints if one.when is not None and _concerns(one, trial)]
        self._derived = rule_set(trial.policy, trial.policy_hash).by_key
        self._leaves = by_path(one.when for one in concerned if one.when is not None)
        for path, leaves in _behind(self._derived, self._leaves):
            self._leaves.setdefault(path, []).extend(leaves)
        self._values: dict[Target, list[Any]] = {}
        self._blind = False

    def run(self, most: int) -> Found:
        for length in range(1, most + 1):
            self._seen.clear()
            self._cut = False
            try:
                row = self._from((), (self._trial.state, self._trial.candidate), length)
            except _Enough:
                return Found(None, False, self._judged)
            if row is not None or not self._cut:
                return Found(row, row is not None or not self._blind, self._judged)
        return Found(None, False, self._judged)

    def _from(self, row: Row, tried: Tried, left: int) -> Row | None:
        """A row that begins so, has `left` more changes at most, and passes."""
        ruling = self._ruling(tried)
        if ruling.verdict == "allow":
            return row
        reading = self._to_change(ruling, row)
        if not reading:
            return None
        if left == 0:
            self._cut = True
            return None
        for target in reading:
            for value in self._options(target, tried):
                longer = (*row, (target, value))
                name = frozenset((one, repr(given)) for one, given in longer)
                after = None if name in self._seen else changed(target, value, tried)
                self._seen.add(name)
                if after is not None and (found := self._from(longer, after, left - 1)) is not None:
                    return found
        return None

    def _ruling(self, tried: Tried) -> CandidateResult:
        if self._spent >= self._budget:
            raise _Enough
        check_wanted()
        ruling = self._trial.judge(*tried)
        self._judged += 1
        self._spent += 1 + len(ruling.reasons) // REASONS_PER_TURN
        return ruling

    def _to_change(self, ruling: CandidateResult, row: Row) -> list[Target]:
        """The values of which one must be changed; none, if something stands in the way that reads none."""
        taken = {target for target, _ in row}
        choices: list[list[Target]] = []
        for reason in ruling.reasons:
            constraint = self._constraints.get(reason.constraint or "")
            if constraint is None or constraint.when is None or is_final(reason):
                return []
            paths = self._touching(paths_read(constraint.when))
            found = [one for path in paths for one in targets(path, self._trial.candidate)]
            choices.append([one for one in found if one not in taken])
        # All of them must give way, so the one with the fewest values will do to go on from.
        fewest: list[Target] = min(choices, key=len, default=[])
        return sorted(fewest, key=lambda one: (one.where, one.path))

    def _touching(self, paths: Iterable[str]) -> Iterator[str]:
        """Paths that constraints read and that lead to these, or from them; of what rules derive, those that
        the rules read."""
        read, waiting = set[str](), list(paths)
        while waiting:
            path = waiting.pop()
            clauses = self._derived.get(next((one for one in keys_of(path) if one in self._derived), ""), ())
            if path not in read:
                read.add(path)
                waiting += (inner for clause in clauses for inner in clause.paths)
                self._blind = self._blind or bool(clauses)
        by_hand = (one for one in self._leaves if self._derived.keys().isdisjoint(keys_of(one)))
        return (path for path in by_hand if any(_overlap(path, one) for one in read))

    def _options(self, target: Target, tried: Tried) -> list[Any]:
        if target not in self._values:
            self._values[target] = self._found(target)
        before = value_at(target, tried)
        return [one for one in self._values[target] if not _same(one, before)]

    def _found(self, target: Target) -> list[Any]:
        leaves: list[Predicate] = self._leaves[target.path]
        alone = sum(_overlap(target.path, other) for other in self._leaves) == 1
        each = 10_000 if not alone else EACH_ARGUMENT if target.where == "argument" else 1
        base, now, fits = (self._trial.state, self._trial.candidate), self._trial.now, self._trial.rules.fits
        self._blind = self._blind or not is_exhaustive(leaves, now, fits)
        return telling(
            leaves,
            now,
            fits,
            each,
            lambda value: changed(target, value, base) is not None,
            self._wanted_by_tool(target),
        )

    def _wanted_by_tool(self, target: Target) -> list[Any]:
        """Values of an argument that the policy's schema of the tool names."""
        tool = self._trial.policy.tools.get(self._trial.action.tool_id or "")
        known = tool.schema.get("properties") if tool is not None and target.where == "argument" else None
        wanted = known.get(target.path[len(ARGS) + 1 :]) if isinstance(known, dict) else None
        return named_in(wanted) if isinstance(wanted, dict) else []


def is_final(reason: Reason) -> bool:
    """Is it about something that no value of call or state changes?"""
    return reason.code == "MALFORMED_CONSTRAINT"


def _behind(
    derived: Mapping[str, list[Clause]], leaves: Mapping[str, list[Predicate]]
) -> Iterator[tuple[str, list[Predicate]]]:
    """The conditions of rules, and those on facts that are copied, by what they are copied from."""
    clauses = [clause for group in derived.values() for clause in group]
    read = dict(leaves)
    for path, found in by_path(clause.when for clause in clauses if clause.when is not None).items():
        read[path] = [*read.get(path, []), *found]
        yield path, found
    for clause in clauses:
        about = [leaf for path, found in read.items() if _overlap(path, clause.key) for leaf in found]
        for path in clause.copies:
            yield path, [Predicate(leaf.op, (path, *leaf.args[1:])) for leaf in about]


def _concerns(constraint: Constraint, trial: Trial) -> bool:
    return constraint.names(trial.action) or trial.action.tool_id is None


def _overlap(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}.") or other.startswith(f"{path}.")


def _same(value: Any, before: Any) -> bool:
    if value is ABSENT or before is ABSENT:
        return value is before
    return same(value, before)
