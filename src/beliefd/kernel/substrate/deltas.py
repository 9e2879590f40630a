"""Changes of F_sparse: staged on a copy, checked, then committed whole or dropped whole."""

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.scan.markers import find_marker
from beliefd.kernel.substrate.constraints import NOT_JUDGED, Action, Failure, Judgement, Reason
from beliefd.kernel.substrate.dense import ATTACHED_BY
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.namespaces import EARLIER, WRITERS, may_write, write_capability
from beliefd.kernel.substrate.paths import is_ambiguous, keys_of
from beliefd.kernel.substrate.predicates import paths_read
from beliefd.kernel.substrate.proposals import DeltaCandidate, Patch
from beliefd.kernel.substrate.questions import question, vector_of, with_consent
from beliefd.kernel.substrate.renewing import derived_from, not_by_hand
from beliefd.kernel.substrate.rulebook import rule_set, rulebook
from beliefd.kernel.substrate.situation import Situation, Told, allowed, denied, failed, stale, told
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.kernel.substrate.tools import CallFinding

GOALS = "goal."


def judge_delta(situation: Situation, candidate: DeltaCandidate, index: int) -> CandidateResult:
    patch, state, rules = candidate.patch, situation.state, situation.rules
    touched = {*patch.set, *patch.remove}
    if reasons := [*_not_attachable(situation, candidate), *_not_writable(situation, patch, touched)]:
        return denied(reasons)
    needed = tuple(sorted({write_capability(key) for key in touched}))
    action = Action(None, needed, None, situation.context(), situation.call_facts())
    if situation.stale and (overlap := situation.stale & {*touched, *rules.reads(action)}):
        return stale(overlap)
    judgement = with_consent(state.truths(rules).judge(state, action), situation.consent)
    known: Any = action.known(state)
    result = failed(situation, judgement, known)
    if result is not None and not situation.facts.policy.arbitration.counts_all:
        return _asked(situation, candidate, result, judgement.failures, index)
    # INVARIANT: staged on a copy, checked, then committed whole or dropped whole.
    staged = state.patched(patch.set, patch.remove)
    derived = derived_from(situation.session, staged, patch, situation.facts)
    if isinstance(derived, Reason):
        return denied([derived, *(() if result is None else result.reasons)])
    if derived is not UNSET:
        staged = staged.patched(derived.values, derived.fell)
    written = {*patch.set, *(derived.set if derived is not UNSET else ())}
    if twofold := _twofold(state, staged, written, situation):
        return denied([*twofold, *(() if result is None else result.reasons)])
    broken = _broken(staged, action, situation, judgement)
    result = failed(situation, judgement, known, _dropped(broken, staged, action, situation))
    if result is None:
        return allowed(patch=patch, derived=derived, vector=vector_of(situation, candidate))
    return _asked(situation, candidate, result, (*judgement.failures, *broken.failures), index)


def _asked(
    situation: Situation,
    candidate: DeltaCandidate,
    result: CandidateResult,
    failures: tuple[Failure, ...],
    index: int,
) -> CandidateResult:
    """The verdict with its question to a person, if one is asked: about all that asks."""
    if result.on_fail != "ask":
        return result
    asked = question(situation, candidate, CallFinding(), result, failures, index)
    return replace(result, approval=asked)


def _not_writable(situation: Situation, patch: Patch, touched: set[str]) -> list[Reason]:
    role = situation.facts.principal.role
    reasons = not_by_hand(patch, situation.facts)
    writers = WRITERS if situation.facts.policy.arbitration.counts_all else EARLIER
    reasons += [reason for key in sorted(touched) if (reason := may_write(role, key, writers)) is not None]
    if (marked := find_marker(patch.set)) is not None:
        # INVARIANT: the symbolic state is of the grounded lane; speculation is not written into it.
        text = f"{marked.found} at `{marked.path}` is speculation, and what is proposed cannot rest on it"
        reasons.append(Reason(code="SPECULATIVE_PROPOSAL", text=text))
    return reasons + [
        Reason(code="BAD_VALUE", text=f"`{key}` needs an object with a whole `v`", keys=(key,))
        for key, value in sorted(patch.set.items())
        if not _is_versioned(value)
    ]


def _not_attachable(situation: Situation, candidate: DeltaCandidate) -> list[Reason]:
    """INVARIANT: who may send a vector along is all that is asked about it; what it holds decides nothing."""
    role = situation.facts.principal.role
    if candidate.delta_vector is UNSET or role in ATTACHED_BY:
        return []
    able = ", ".join(sorted(ATTACHED_BY))
    text = f"role `{role}` sends no vectors along"
    return [Reason(code="NOT_AUTHORISED", text=text, remedy=f"a principal with role {able}")]


def _is_versioned(value: Any) -> bool:
    return isinstance(value, dict) and type(value.get("v")) is int and value["v"] >= 1


def _twofold(
    before: SymbolicState, staged: SymbolicState, written: set[str], situation: Situation
) -> list[Reason]:
    """INVARIANT: no change makes a path ambiguous that a constraint or a rule reads."""
    policy, name = situation.facts.policy, situation.facts.policy_hash
    read = (rulebook(policy, name).deep, rule_set(policy, name).deep)
    paths = {path for key in written for deep in read for path in deep.get(key, ())}
    text = "`{}` could be read in two ways: a name with a dot in it would stand beside an object"
    return [
        Reason(
            code="AMBIGUOUS_STATE",
            text=text.format(path),
            keys=(path,),
            remedy=f"one value only that `{path}` leads to",
        )
        for path in sorted(paths)
        if is_ambiguous(staged, path) and not is_ambiguous(before, path)
    ]


def _broken(staged: SymbolicState, action: Action, situation: Situation, before: Judgement) -> Judgement:
    """What the staged state breaks: invariants, and rules about this write that set goals against each other.

    A rule that only now denies, because of several goals that are there, says that they exclude each other;
    any other rule about writes speaks of the state before them. What stood in the way `before` is said once.
    """
    truths = staged.truths(situation.rules)
    exclusive = (
        one
        for one in truths.judge(staged, action).failures
        if one.code == "DENIED" and len(_goals(one, staged)) > 1
    )
    said = {one.constraint.key for one in before.failures}
    fresh = (one for one in (*truths.broken, *exclusive) if one.constraint.key not in said)
    return with_consent(Judgement(True, tuple(fresh)), situation.consent)


def _dropped(
    judgement: Judgement, staged: SymbolicState, action: Action, situation: Situation
) -> Iterator[Told]:
    """Why the staged state is dropped."""
    for one, reason in told(situation, judgement, action.known(staged)):
        goals = _goals(one, staged)
        if one.code in NOT_JUDGED:
            yield one, reason
        elif len(goals) > 1:
            names = " and ".join(f"`{key}`" for key in goals)
            text = f"{names} exclude each other"
            if one.constraint.reason:
                text = f"{text}: {one.constraint.reason}"
            yield one, replace(reason, code="GOAL_CONFLICT", text=text, keys=goals)
        else:
            yield one, replace(reason, code="INVARIANT_BROKEN")


def _goals(failure: Failure, staged: SymbolicState) -> tuple[str, ...]:
    """The goals that are there and that a failed constraint looks at, by key or by a field of theirs."""
    when = failure.constraint.when
    if when is None:
        return ()
    read = (next((key for key in keys_of(path) if key in staged), "") for path in paths_read(when))
    return tuple(sorted({key for key in read if key.startswith(GOALS)}))
