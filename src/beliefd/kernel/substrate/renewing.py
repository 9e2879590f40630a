"""Bringing derived facts up to date: with another policy all of them, with a change what rests on it."""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from beliefd.kernel.canonical import digest
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.constraint_index import INVARIANT
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.substrate.derived import Derivation
from beliefd.kernel.substrate.deriving import RuleSet, Settled, too_large
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.folds import with_derived
from beliefd.kernel.substrate.policy_keys import POLICY, policy_seen
from beliefd.kernel.substrate.proposals import Patch
from beliefd.kernel.substrate.rule_reading import RULES, TooLarge
from beliefd.kernel.substrate.rulebook import rule_set, rulebook
from beliefd.kernel.substrate.symbolic_state import SymbolicState


class Renewed(Struct, frozen=True):
    """A session whose facts are derived by the rules of now; what that changed, or why it is not possible.

    `unkept` are the invariants that those facts break, and that were kept without them.
    """

    session: Session
    derived: Derivation | UnsetType = UNSET
    problem: Reason | None = None
    unkept: frozenset[str] = frozenset()

    def committed(self, results: Iterable[CandidateResult]) -> Derivation | UnsetType:
        """INVARIANT: facts that break an invariant are not committed, unless a change that is committed with
        them keeps it, or a person has said yes to that change."""
        healed = any(one.verdict == "allow" and one.patch is not None for one in results)
        return self.derived if healed or not self.unkept else UNSET


def renewed(session: Session, facts: Facts, mode: str) -> Renewed:
    """INVARIANT: nothing is judged on facts that other rules have derived, or that rules cannot derive."""
    held, rules = session.substrate, rule_set(facts.policy, facts.policy_hash)
    under = _under(rules, facts, mode)
    if under == held.derived_under:
        return Renewed(session, problem=rules.problem)
    values, seen = held.symbolic_state.mapped, policy_seen(facts, mode)
    try:
        done = rules.settle_anew(
            values if seen is None else values.insert(POLICY, seen), held.derived, held.derived_size
        )
    except TooLarge as error:
        return Renewed(session, problem=too_large(error))
    derivation = _derivation(done, under)
    after = with_derived(session, derivation)
    whole = facts.policy.arbitration.whole
    unkept = _broken(after, facts, seen) - _broken(session, facts, seen) if whole else frozenset[str]()
    return Renewed(after, derivation, rules.problem, unkept)


def _broken(session: Session, facts: Facts, seen: dict[str, Any] | None) -> frozenset[str]:
    """The invariants that a state does not keep."""
    rules, state = rulebook(facts.policy, facts.policy_hash), session.substrate.symbolic_state
    if not rules.fixed[INVARIANT]:
        return frozenset()
    known = state if seen is None else state.over(rules, POLICY, seen)
    return frozenset(one.constraint.key for one in known.truths(rules).broken)


def derived_from(
    session: Session, staged: SymbolicState, patch: Patch, facts: Facts
) -> Derivation | UnsetType | Reason:
    """What rules make of a state that a patch has changed; why they cannot, or nothing."""
    held, rules = session.substrate, rule_set(facts.policy, facts.policy_hash)
    changed = (*patch.remove, *patch.set)
    try:
        done = rules.settle(staged.mapped, held.derived, held.derived_size, changed)
    except TooLarge as error:
        return too_large(error)
    return _derivation(done, held.derived_under) if done.set or done.fell else UNSET


def not_by_hand(patch: Patch, facts: Facts) -> list[Reason]:
    """Why a patch may not be: rules derive what it would write or remove, or it would write rules."""
    rules = rule_set(facts.policy, facts.policy_hash)
    touched = {**dict.fromkeys(patch.remove), **patch.set}
    as_now = facts.policy.arbitration.counts_all
    return list(_claimed(rules, touched, patch, as_now=as_now)) if facts.policy.rules else []


def _claimed(rules: RuleSet, touched: Iterable[str], patch: Patch, *, as_now: bool) -> Iterable[Reason]:
    for key in sorted(touched):
        if key.startswith(RULES) and not as_now:
            yield Reason(code="KERNEL_OWNED", text=f"`{key}` changes with the policy only", keys=(key,))
        fact = rules.claimed(key, patch.set.get(key))
        if fact is not None:
            rule = rules.by_key[fact][0].rule
            text = f"`{fact if as_now else key}` is derived by `{rule}`, and not written by hand"
            remedy = f"a change of what `{rule}` reads"
            yield Reason(code="DERIVED", text=text, keys=(key,), remedy=remedy)


def _under(rules: RuleSet, facts: Facts, mode: str) -> str:
    """Names the rules, with what of the policy they read beside it; nothing where there are none."""
    if not facts.policy.rules:
        return ""
    if not rules.reads_policy:
        return facts.policy_hash
    return digest([facts.policy_hash, policy_seen(facts, mode)])


def _derivation(done: Settled, under: str) -> Derivation:
    facts = {key: done.set[key] for key in sorted(done.set)}
    return Derivation(set=facts, fell=tuple(sorted(done.fell)), under=under, size=done.size)
