"""Which constraints a file of cases has tried: denies that denied once, and allows that held once."""

from collections.abc import Iterable

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import INVARIANTS, Constraint, failing
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.ledger.chain import policy_hash
from beliefd.policy.explaining.answering import effect_of
from beliefd.policy.explaining.trials import Trial


class Untried(Struct, frozen=True):
    """A constraint that no case has made fire, and what a case that does would have to show."""

    constraint: str
    effect: str
    wanted: str


class Coverage(Struct, frozen=True):
    """How many constraints have fired in some case, in percent of all of them."""

    constraints: int
    fired: int
    percent: float
    untried: list[Untried]


def fired_by(trial: Trial, ruling: CandidateResult) -> list[str]:
    """The constraints that had a say: those that stood in the way, and those that allowed it.

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
    return sorted(named | {key for key in broken if key is not None})


def coverage(policy: Policy, fired: Iterable[Iterable[str]]) -> Coverage:
    constraints = rulebook(policy, policy_hash(policy)).constraints
    seen = {key for case in fired for key in case}
    untried = [Untried(one.key, effect_of(one), _wanted(one)) for one in constraints if one.key not in seen]
    total = len(constraints)
    percent = 100.0 if not total else round(100 * (total - len(untried)) / total, 1)
    return Coverage(total, total - len(untried), percent, untried)


def _wanted(one: Constraint) -> str:
    if one.key.startswith(INVARIANTS):
        return "a change (`delta`) that breaks it"
    about = one.subject.tool_id or one.subject.capability
    whose = "a call" if about is None else f"a call that `{about}` names"
    if one.when is None:
        return whose
    return f"{whose} for which its condition holds"
