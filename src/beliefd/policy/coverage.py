"""Which constraints and rules a file of cases has tried: denies that denied once, allows that held once, and
rules that derived something once."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct
from rpds import HashTrieMap

from beliefd.kernel.parts import EMPTY
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import INVARIANTS, Constraint, failing
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.proposals import DeltaCandidate
from beliefd.kernel.substrate.rule_reading import TooLarge
from beliefd.kernel.substrate.rulebook import rule_set, rulebook
from beliefd.ledger.chain import policy_hash
from beliefd.policy.explaining.answering import effect_of
from beliefd.policy.explaining.trials import Trial

DERIVES: Final = "a state in which its condition holds, and all that it copies is there"


class Untried(Struct, frozen=True):
    """A constraint or rule that no case has made fire, and what a case that does would have to show."""

    constraint: str
    effect: str
    wanted: str


class Coverage(Struct, frozen=True):
    """How many constraints and rules have fired in some case, in percent of all of them."""

    constraints: int
    rules: int
    fired: int
    percent: float
    untried: list[Untried]


def fired_by(trial: Trial, ruling: CandidateResult) -> list[str]:
    """The constraints that had a say: those that stood in the way, and those that allowed it; and the rules
    that derive something, before a change or after it.

    All that name it are asked, whether or not something else decided before them.
    """
    known, fits = trial.known, trial.rules.fits
    named = {
        one.key
        for one in trial.rules.constraints
        if not one.key.startswith(INVARIANTS)
        and one.names(trial.action)
        and (failing(one, known, fits) is None) is (one.effect == "allow")
    }
    # Invariants are about the state after a change, so only the verdict knows.
    broken = {one.constraint for one in ruling.reasons if (one.constraint or "").startswith(INVARIANTS)}
    return sorted(named | {key for key in broken if key is not None} | _deriving(trial))


def _deriving(trial: Trial) -> set[str]:
    """Rules whose condition holds, whether or not another derives the same."""
    rules = rule_set(trial.policy, trial.policy_hash)
    states: list[Mapping[str, Any]] = [trial.seen]
    if isinstance(trial.candidate, DeltaCandidate):
        patch = trial.candidate.patch
        left = {key: trial.seen[key] for key in trial.seen if key not in patch.remove}
        values = HashTrieMap({**left, **patch.set})
        try:
            done = rules.settle_anew(values, EMPTY, 0)
        except TooLarge:
            return set()
        kept = {key: values[key] for key in values if key not in done.fell}
        states.append({**kept, **{key: fact.value for key, fact in done.set.items()}})
    clauses = [one for some in rules.by_key.values() for one in some]
    return {one.rule for state in states for one in clauses if one.fact(state, rules.fits) is not None}


def coverage(policy: Policy, fired: Iterable[Iterable[str]]) -> Coverage:
    constraints = rulebook(policy, policy_hash(policy)).constraints
    seen = {key for case in fired for key in case}
    untried = [Untried(one.key, effect_of(one), _wanted(one)) for one in constraints if one.key not in seen]
    rules = sorted(policy.rules or {})
    untried += [Untried(key, "rule", DERIVES) for key in rules if key not in seen]
    total = len(constraints) + len(rules)
    percent = 100.0 if not total else round(100 * (total - len(untried)) / total, 1)
    return Coverage(len(constraints), len(rules), total - len(untried), percent, untried)


def _wanted(one: Constraint) -> str:
    if one.key.startswith(INVARIANTS):
        return "a change (`delta`) that breaks it"
    about = one.subject.tool_id or one.subject.capability
    whose = "a call" if about is None else f"a call that `{about}` names"
    if one.when is None:
        return whose
    return f"{whose} for which its condition holds"
