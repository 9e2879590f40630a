"""Compiling a policy before it counts: what the kernel could only answer with denials is refused by name.

The kernel denies whatever a malformed constraint names, and ledgers that were written under such a policy are
decided again in the same way. So this is looked at when a policy is adopted, and not when one is read.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.errors import invalid
from beliefd.kernel.names import ALL, covers
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.arbitration_policy import VERSION
from beliefd.kernel.substrate.constraints import (
    EFFECTS,
    EFFECTS_BY_VERSION,
    EVERYTHING,
    INVARIANTS,
    ON_FAIL,
    Constraint,
)
from beliefd.kernel.substrate.deriving import RuleProblem
from beliefd.kernel.substrate.guarantees import Guarantee, contradictions
from beliefd.kernel.substrate.policy_keys import NAMES, POLICY, is_of_policy
from beliefd.kernel.substrate.predicates import (
    BY_VERSION,
    CALL_FACTS,
    Malformed,
    Misfit,
    is_of_call,
    parse,
    paths_read,
)
from beliefd.kernel.substrate.rulebook import rule_set, rulebook
from beliefd.kernel.substrate.schemas import BadSchema, Schema
from beliefd.kernel.values import shown
from beliefd.ledger.chain import policy_hash
from beliefd.policy.fact_names import is_fact, misfits
from beliefd.policy.name_forms import unnamed, wrong_subject
from beliefd.policy.path_names import unreadable
from beliefd.policy.pattern_budget import over_budget

KEYS: Final = "constraint.*"
NAMED: Final = 24
"""So many names are read at a glance."""
WORDS: Final = {"effect": EFFECTS, "on_fail": ON_FAIL}
"""Fields of constraints that take one of a few words."""


class Problem(Struct, frozen=True):
    """What is wrong with a policy, where, and what would do instead."""

    path: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}"


def compiled(policy: Policy) -> Policy:
    """The policy as it is, if all of it can be decided by. INVARIANT: no other comes into force."""
    if (problem := next(problems(policy), None)) is not None:
        raise invalid(str(problem), problem.path)
    return policy


def compiled_for(policy: Policy, questions: tuple[Guarantee, ...]) -> Policy:
    """The policy with questions in place of its promises, if all of it makes sense."""
    return compiled(replace(policy, prove=questions or UNSET))


def problems(policy: Policy) -> Iterator[Problem]:
    """All that cannot be read as what it is meant to be. Schemas come first: constraints name them."""
    from beliefd.policy.contradicting import contradictory

    if (unbounded := _unbounded(policy)) is not None:
        yield unbounded  # and nothing else: all else is found out by compiling it
        return
    for name, tool in policy.tools.items():
        yield from _schema(tool.schema, f"$.tools.{name}.schema")
    for name, schema in policy.schemas.items():
        yield from _schema(schema, f"$.schemas.{name}")
    for wrong_name in unnamed(policy):
        yield Problem(wrong_name.path, wrong_name.message, wrong_name.remedy)
    compiled_rules = rulebook(policy, policy_hash(policy))
    for keys in contradictory(compiled_rules.constraints, compiled_rules.fits):
        named = " and ".join(f"`{key}`" for key in keys)
        unkept = f"no state keeps {named}: nothing could be written"
        yield Problem(f"$.constraints.{keys[0]}", unkept, "take one of them out, or let them ask a person")
    for one in compiled_rules.constraints:
        yield from _constraint(one)
        if (wrong_of := wrong_subject(one.subject, policy)) is not None:
            yield Problem(f"$.constraints.{one.key}.subject", *wrong_of)
        yield from _facts(one, asked=policy.context is not UNSET)
        yield from _invariant(one)
        yield from _paths(() if one.when is None else paths_read(one.when), f"$.constraints.{one.key}")
    rules = rule_set(policy, policy_hash(policy))
    for wrong in rules.problems:
        yield _rule(wrong)
    for clause in (one for rule in rules.rules for one in rule.clauses):
        yield from _paths(clause.paths, f"$.rules.{clause.rule}")
    yield from _promises(policy)


def _unbounded(policy: Policy) -> Problem | None:
    """INVARIANT: nothing is compiled whose size is not bounded, not even to be tried."""
    if policy.arbitration.patterns != "bounded":
        wrong = "patterns without bounds are for ledgers from before there were any"
        return Problem("$.arbitration.patterns", wrong, "take it out")
    if (over := over_budget(policy)) is not None:
        return Problem(over.path, over.message, "take some out, or let them repeat less")
    return None


def _promises(policy: Policy) -> Iterator[Problem]:
    """Promises that nobody could prove: about constraints that are not there, or against each other."""
    promises = policy.prove or ()
    for at, one in enumerate(promises):
        path = f"$.prove[{at}]"
        if one.when is not UNSET:
            try:
                yield from _paths(paths_read(parse(one.when)), f"{path}.when")
            except Malformed as error:
                yield Problem(f"{path}.{error.misfit.at or 'when'}", str(error), _remedy(error.misfit))
        for key in (one.constraint, *(one.never_conflict or ())):
            if key is not UNSET and key not in policy.constraints:
                misfit = Misfit("constraint", key, tuple(policy.constraints))
                yield Problem(path, f"there is no constraint `{shown(key)}`", _remedy(misfit))
    for at, other in contradictions(promises):
        wrong = f"`{promises[at].words}` and `{promises[other].words}` cannot both hold"
        yield Problem(f"$.prove[{at}]", wrong, "take one of them out")


def _schema(raw: Any, path: str) -> Iterator[Problem]:
    try:
        Schema(raw)
    except BadSchema as error:
        yield Problem(path, f"not a JSON Schema: {error}", "correct it; it may refer to nothing outside")


def _constraint(one: Constraint) -> Iterator[Problem]:
    path = f"$.constraints.{one.key}"
    if not covers(KEYS, one.key):
        # INVARIANT: rules have names of their own namespace, which nobody can write but by a policy.
        named = f"{KEYS.removesuffix(ALL)}{one.key.rpartition('constraint.')[2].strip('.') or 'NAME'}"
        yield Problem(path, f"`{shown(one.key)}` is not in `{KEYS}`", f"call it `{shown(named)}`")
    if one.malformed is not None and (misfit := one.misfit) is not None:
        place = f"{path}.{misfit.at}" if misfit.at else path
        yield Problem(place, f"the constraint is malformed: {one.malformed}", _remedy(misfit))


def _facts(one: Constraint, *, asked: bool) -> Iterator[Problem]:
    """INVARIANT: no rule reads a fact that is never there. Such a deny would let everything pass."""
    if one.when is None:
        return
    path = f"$.constraints.{one.key}"
    for message, misfit in misfits(one.when):
        fitting = _remedy(misfit) if misfit.allowed else "correct it: as it stands, it never holds"
        yield Problem(f"{path}.{misfit.at}", message, fitting)
    if not asked and any(is_fact(name) for name in paths_read(one.when)):
        wrong = f"it reads `{CALL_FACTS}`, and the policy has no `context`: nobody finds these facts out"
        yield Problem(
            f"{path}.when", wrong, "add `context`, as `beliefd policy init --preset guard` writes it"
        )


def _invariant(one: Constraint) -> Iterator[Problem]:
    """INVARIANT: no invariant looks as if it were about some calls or changes: it is about states alone."""
    if not one.key.startswith(INVARIANTS) or one.malformed is not None:
        return
    path = f"$.constraints.{one.key}"
    # Under version 1 a subject was always taken, and always ignored.
    if one.subject != EVERYTHING and one.raw["v"] > 1:
        wrong = "an invariant is about states alone, and this one has a `subject`"
        yield Problem(f"{path}.subject", wrong, "take it out, or call it what is no invariant")
    if read := sorted(filter(is_of_call, () if one.when is None else paths_read(one.when))):
        wrong = f"an invariant is about states alone, and this one reads `{read[0]}`"
        yield Problem(f"{path}.when", wrong, "take it out: it never sees a call")


def _paths(paths: Iterable[str], place: str) -> Iterator[Problem]:
    """INVARIANT: no condition reads what is never there."""
    paths = sorted(paths)
    for wrong in unreadable(paths):
        yield Problem(place, wrong.message, wrong.remedy)
    yield from _policy_keys(paths, place)


def _policy_keys(paths: Iterable[str], place: str) -> Iterator[Problem]:
    """INVARIANT: no rule reads of the policy what is never there."""
    for path in sorted(paths):
        if is_of_policy(path) and path.partition(".")[2] not in ("", *NAMES):
            fitting = tuple(f"{POLICY}.{known}" for known in NAMES)
            wrong = f"`{path}` is nothing that can be read of a policy"
            yield Problem(place, wrong, _remedy(Misfit("when", path, fitting)))


def _rule(wrong: RuleProblem) -> Problem:
    """INVARIANT: rules that cannot be applied do not come into force: they would deny everything."""
    if not wrong.rule:
        return Problem("$.rules", wrong.message, "take some out")
    path = f"$.rules.{wrong.rule}"
    place = f"{path}.{wrong.misfit.at}" if wrong.misfit.at else path
    fitting = _remedy(wrong.misfit) if wrong.misfit.allowed else "correct it or take it out"
    return Problem(place, wrong.message, fitting)


MEANT: Final = {
    **{"and": "all", "or": "any", "equals": "eq", "==": "eq", "=": "eq", "!": "not"},
    **{"<": "lt", "<=": "le", "lte": "le", ">": "gt", ">=": "ge", "gte": "ge", "range": "between"},
    **{"older_than": "age_over", "prefix": "starts_with", "suffix": "ends_with"},
    **{"startswith": "starts_with", "endswith": "ends_with"},
    **{"regex": "matches", "pattern": "matches", "=~": "matches", "like": "matches"},
    **{"overlaps": "intersects", "len": "count", "length": "count", "size": "count"},
    **{"permit": "allow", "forbid": "deny", "block": "deny", "confirm": "ask", "approve": "ask"},
}
"""Words of other languages; those that look alike mean something else."""
LATER: Final = {"op": BY_VERSION[VERSION], "effect": EFFECTS_BY_VERSION[VERSION]}
"""What the newest version knows, by field."""


def _remedy(misfit: Misfit) -> str:
    """What was probably meant, else all that fits."""
    got, allowed = misfit.got, misfit.allowed
    if not allowed:
        return "correct it or take it out: as it stands, it denies whatever its subject names"
    meant = MEANT.get(got, got) if isinstance(got, str) else ""
    fits = f"here fits {_names(allowed)}{_later(misfit, meant)}"
    elsewhere = [name for name, words in WORDS.items() if got in words and name != misfit.at]
    if elsewhere and "." not in misfit.at:
        return f"`{got}` is a word of `{elsewhere[0]}`; {fits}"
    near = [meant] if meant in allowed else get_close_matches(shown(meant), allowed, 1) if meant else []
    return f"did you mean `{near[0]}`? {fits}" if near else fits


def _later(misfit: Misfit, word: str) -> str:
    """What else would do: the version of constraints that knows the word."""
    known = LATER.get(misfit.at.rpartition(".")[2], ())
    return f"; with `v: {VERSION}`, `{word}` fits too" if word in known and word not in misfit.allowed else ""


def _names(allowed: Iterable[str]) -> str:
    listed = list(allowed)
    more = f" and {len(listed) - NAMED} more" if len(listed) > NAMED else ""
    return ", ".join(f"`{shown(one)}`" for one in listed[:NAMED]) + more
