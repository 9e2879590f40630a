"""What a decision rests on that is not known: then no verdict is given that this could have changed."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.substrate.constraint_index import ConstraintIndex
from beliefd.kernel.substrate.constraints import INVARIANTS, Action, Constraint
from beliefd.kernel.substrate.deriving import RuleSet
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.operators import SchemaCheck
from beliefd.kernel.substrate.policy_keys import POLICY, is_of_policy
from beliefd.kernel.substrate.predicates import CALL, CALL_FACTS, Predicate, holds, paths_read
from beliefd.kernel.substrate.text_bounds import TextTooLong

NOW: Final = frozenset({"block", "degrade"})
"""What denies at once, whatever else there is."""


class Unknown(Struct, frozen=True):
    """Paths that nothing is known of, by what they begin with, each with the reason. With `state`, nothing is
    known of the symbolic state either."""

    paths: dict[str, str] = {}
    state: str = ""

    def __bool__(self) -> bool:
        return bool(self.paths or self.state)

    def why(self, path: str) -> str:
        """Why nothing is known of a path; empty, if it is known."""
        for begin, reason in self.paths.items():
            if path == begin or path.startswith(f"{begin}.") or begin.startswith(f"{path}."):
                return reason
        of_call = any(path == one or path.startswith(f"{one}.") for one in (CALL, CALL_FACTS))
        return "" if of_call or is_of_policy(path) else self.state


class Undecided(Struct, frozen=True):
    """A constraint that cannot be judged, and why."""

    constraint: str
    why: str


NO_ADOPTION: Final = "a policy that is tried was adopted by nobody"
ADOPTION: Final = dict.fromkeys((f"{POLICY}.adopted_by", f"{POLICY}.adopted_at"), NO_ADOPTION)


def spread(rules: RuleSet, unknown: Unknown) -> Unknown:
    """With the facts that rules derive from what is not known: of those, nothing is known either."""
    found, grown = unknown, True
    while grown:
        open_ = {
            key: why
            for key, clauses in rules.by_key.items()
            for path in sorted({path for one in clauses for path in one.paths})
            if key not in found.paths and (why := found.why(path))
        }
        found = replace(found, paths={**found.paths, **open_})
        grown = bool(open_)
    return found


def undecided(
    rules: ConstraintIndex, action: Action, state: Mapping[str, Any], unknown: Unknown
) -> list[Undecided]:
    """The constraints about an action whose truth hangs on what is not known."""
    known: Mapping[str, Any] | None = None
    found = []
    for one in rules.constraints:
        if one.when is None or one.key.startswith(INVARIANTS) or not one.names(action):
            continue
        known = action.known(state) if known is None else known
        why: list[str] = []
        try:
            is_open = truth(one.when, known, rules.fits, unknown, why) is None
        except TextTooLong:  # it denies, unless what is not known spares it the text
            is_open = bool(why)
        if is_open:
            found.append(Undecided(one.key, why[0]))
    return found


def truth(
    predicate: Predicate, state: Mapping[str, Any], fits: SchemaCheck, unknown: Unknown, why: list[str]
) -> bool | None:
    """Whether it holds, as far as that can be said; `why` is added to where it cannot."""
    op, args = predicate.op, predicate.args
    if op == "not":
        inner = truth(args[0], state, fits, unknown, why)
        return None if inner is None else not inner
    if op in ("all", "any"):
        settles = op == "any"
        found = [truth(one, state, fits, unknown, why) for one in args]
        if settles in found:
            return settles
        return None if None in found else not settles
    if reasons := [reason for path in sorted(paths_read(predicate)) if (reason := unknown.why(path))]:
        why.append(reasons[0])
        return None
    return holds(predicate, state, fits)


def settled(
    result: CandidateResult, open_: Iterable[Undecided], constraints: Mapping[str, Constraint]
) -> bool:
    """Would it come to the same, whatever those constraints say? Only what is refused at once does."""
    names = {one.constraint for one in open_}
    if not names:
        return True
    if result.verdict != "deny":
        return False
    for reason in result.reasons:
        if reason.constraint is None:
            return True  # the call itself is wrong, or nothing at all would allow it
        known = constraints.get(reason.constraint)
        if known is not None and known.key not in names and known.on_fail in NOW:
            return True
    return False
