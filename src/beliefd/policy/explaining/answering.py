"""An explanation, put together: the verdict, what the deciding constraints read, and what would help."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.substrate.constraints import Constraint, Reason
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.namespaces import WRITERS, namespace
from beliefd.kernel.substrate.operators import shown
from beliefd.kernel.substrate.paths import ABSENT, keys_of, look_up
from beliefd.kernel.substrate.predicates import paths_read
from beliefd.kernel.substrate.reasons import PERSON
from beliefd.kernel.substrate.rule_reading import Clause
from beliefd.kernel.substrate.rulebook import rule_set
from beliefd.policy.explaining.changing import Target, value_at
from beliefd.policy.explaining.searching import Found, smallest
from beliefd.policy.explaining.trials import Trial
from beliefd.policy.samples import leaves
from beliefd.protocol.explaining import (
    Deciding,
    PolicyExplanation,
    Reading,
    Remedy,
    Under,
    ValueChange,
    Which,
)

MOST_BYTES: Final = 2_000
"""A value that is longer is told by its length."""
MOST_DECIDING: Final = 100
EXACT: Final = ("eq", "in")
POLICY: Final = "the policy must change"


def explained(trial: Trial, under: Iterable[Under] = (), event_id: str | None = None) -> PolicyExplanation:
    ruling = trial.ruling()
    allowing = trial.rules.allowing(trial.seen, trial.action)
    return PolicyExplanation(
        verdict=ruling.verdict,
        reason_code=ruling.reason_code,
        on_fail=ruling.on_fail,
        reasons=list(ruling.reasons),
        allowed_by=allowing,
        left_out=list(trial.left_out),
        assumed=list(trial.assumed),
        policy_hash=trial.policy_hash,
        deciding=_deciding(trial, ruling, allowing),
        remedy=None if ruling.verdict == "allow" else remedy_of(trial, ruling),
        under=[_compared(one, ruling) for one in under],
        event_id=event_id,
    )


def under(which: Which, trial: Trial, **adopted: str) -> Under:
    """What another policy says of the same."""
    ruling = trial.ruling()
    return Under(
        which=which,
        policy_hash=trial.policy_hash,
        verdict=ruling.verdict,
        reason_code=ruling.reason_code,
        reasons=ruling.reasons,
        **adopted,  # type: ignore[arg-type]  # texts
    )


def _compared(other: Under, ruling: CandidateResult) -> Under:
    differs = (other.verdict, other.reason_code) != (ruling.verdict, ruling.reason_code)
    return replace(other, differs=differs)


def _deciding(trial: Trial, ruling: CandidateResult, allowing: list[str]) -> list[Deciding]:
    """The constraints that the verdict rests on, in the order in which they do."""
    by_key = {one.key: one for one in trial.rules.constraints}
    codes = {reason.constraint: reason.code for reason in ruling.reasons if reason.constraint in by_key}
    named = codes if ruling.verdict != "allow" else dict.fromkeys(allowing, "ALLOWED")
    known, derived = trial.known, rule_set(trial.policy, trial.policy_hash).by_key
    return [
        Deciding(
            constraint=key,
            effect=effect_of(by_key[key]),
            code=code,
            on_fail=None if code == "ALLOWED" else by_key[key].on_fail,
            reads=tuple(_readings(by_key[key], known, derived)),
        )
        for key, code in list(named.items())[:MOST_DECIDING]
        if key is not None
    ]


def effect_of(constraint: Constraint) -> str:
    """The effect as it was written: what asks is read as a deny that asks."""
    raw = constraint.raw if isinstance(constraint.raw, dict) else {}
    return str(raw.get("effect", constraint.effect))


def _readings(
    constraint: Constraint, known: Mapping[str, Any], derived: Mapping[str, list[Clause]]
) -> Iterable[Reading]:
    if constraint.when is None:
        return
    for path in sorted(paths_read(constraint.when)):
        found = look_up(known, path)
        if found is ABSENT:
            yield Reading(path=path, present=False)
            continue
        size = _size(found)
        key = next((one for one in keys_of(path) if known.get(one, ABSENT) is not ABSENT), path)
        yield Reading(
            path=path,
            present=True,
            value=found if size <= MOST_BYTES else UNSET,
            long=UNSET if size <= MOST_BYTES else size,
            key=key if WRITERS.get(namespace(key)) else UNSET,
            rule=derived[key][0].rule if key in derived else UNSET,
        )


def _size(value: Any) -> int:
    try:
        return len(canonical(value))
    except NotCanonical:  # only where files are tried out: what is recorded has a canonical form
        return MOST_BYTES + 1


def remedy_of(trial: Trial, ruling: CandidateResult) -> Remedy:
    found = smallest(trial)
    changes = tuple(_change(trial, target, value) for target, value in found.changes or ())
    person = ruling.on_fail == "ask"
    otherwise = () if changes else tuple(_otherwise(ruling))
    return Remedy(
        words=_words(changes, person, otherwise, found),
        changes=changes,
        person=person,
        otherwise=otherwise,
        searched="all" if found.whole else "part",
        judged=found.judged,
    )


def _change(trial: Trial, target: Target, value: Any) -> ValueChange:
    now = value_at(target, (trial.state, trial.candidate))
    named = (
        leaf.args[1:] if leaf.op == "eq" else leaf.args[1]
        for one in trial.rules.constraints
        if one.when is not None
        for leaf in leaves(one.when)
        if leaf.op in EXACT and leaf.args[0] == target.path
    )
    exact = value is ABSENT or isinstance(value, bool) or any(value in values for values in named)
    roles = sorted(WRITERS.get(namespace(target.path), ())) if target.where == "state" else ()
    return ValueChange(
        where=target.where,
        path=target.path,
        now=UNSET if now is ABSENT else now,
        then=UNSET if value is ABSENT else value,
        example=not exact,
        by=tuple(role.value for role in roles),
    )


def _otherwise(ruling: CandidateResult) -> Iterable[str]:
    """What is left where no value helps: a person, or what each reason asks for that reads none."""
    if ruling.on_fail == "ask":
        yield PERSON
    outright = False
    for reason in ruling.reasons:
        if _is_person(reason):
            continue
        if reason.constraint is None and reason.remedy and reason.code != "NO_ALLOW":
            yield reason.remedy
        elif ruling.on_fail != "ask":
            outright = True
    if outright:
        yield POLICY


def _is_person(reason: Reason) -> bool:
    return reason.code == "NEEDS_PERSON"


def _words(changes: tuple[ValueChange, ...], person: bool, otherwise: tuple[str, ...], found: Found) -> str:
    if changes:
        several = "1 value" if len(changes) == 1 else f"{len(changes)} values"
        told = f"change {several}: {', and '.join(map(change_words, changes))}"
        return f"{told}; or {PERSON}" if person else told
    left = " or ".join(otherwise) or POLICY
    if PERSON in otherwise:
        return left  # that is something, whatever else was tried
    if found.whole:
        return f"nothing you can change: {left}"
    return f"no change was found in {found.judged} tries, and not all were tried: {left}"


def change_words(change: ValueChange) -> str:
    if change.then is UNSET:
        return f"take `{change.path}` out"
    if change.now is UNSET:
        return f"give `{change.path}` as {shown(change.then)}{_example(change)}"
    return f"`{change.path}` from {shown(change.now)} to {shown(change.then)}{_example(change)}"


def _example(change: ValueChange) -> str:
    return ", for example" if change.example else ""
