"""What is the matter with one constraint, whatever the others say."""

from collections.abc import Iterator
from typing import Final

from beliefd.kernel.substrate.constraints import INVARIANTS, Constraint
from beliefd.kernel.substrate.operators import TABLE, SchemaCheck
from beliefd.kernel.substrate.predicates import JOINING, Predicate, holds
from beliefd.policy.explaining.answering import effect_of
from beliefd.policy.lint.domains import Values, states
from beliefd.policy.lint.finding import Finding, Level

PRESENCE: Final = ("exists", "missing")
CONSTANT: Final = ("NEVER_FIRES", "ALWAYS_FIRES", "NEVER_ALLOWS", "IDLE_CONDITION")
"""What is said of a condition that comes out one way only."""


def alone(one: Constraint, fits: SchemaCheck, known: Values) -> Iterator[Finding]:
    if one.when is None:
        return
    yield from _constant(one, one.when, fits, known)
    # What denies or asks does so of what is missing, too, which is the safe side.
    if one.effect == "allow":
        yield from negated_comparisons(one.key, one.when)


def negated_comparisons(key: str, when: Predicate, level: Level = "warning") -> Iterator[Finding]:
    """Comparisons that are true of what is missing, because they stand under a `not`."""
    return (
        Finding(code="NOT_OF_COMPARISON", constraint=key, message=message, level=level)
        for message in dict.fromkeys(_negated(when, when))
    )


def only_outcome(when: Predicate, fits: SchemaCheck, known: Values) -> bool | None:
    """How a condition always comes out; None if it can come out both ways, or if that cannot be said."""
    over = states([when], fits, known)
    said = set[bool]() if over is None else {holds(when, state, fits) for state in over}
    return said.pop() if len(said) == 1 else None


def _constant(one: Constraint, when: Predicate, fits: SchemaCheck, known: Values) -> Iterator[Finding]:
    """A condition that comes out one way only."""
    always, effect = only_outcome(when, fits, known), effect_of(one)
    if always is None:
        return
    if one.effect == "allow":
        if always:
            text = "its condition always holds: it allows outright, and the condition can go"
            yield Finding(code="IDLE_CONDITION", constraint=one.key, message=text)
        else:
            text = "its condition never holds: it stands in the way of all that it names"
            yield Finding(code="NEVER_ALLOWS", constraint=one.key, message=text)
    elif always:
        about = "every change" if one.key.startswith(INVARIANTS) else "all that it names"
        text = f"its condition always holds: it is a {effect} for {about}"
        yield Finding(code="ALWAYS_FIRES", constraint=one.key, message=text)
    else:
        text = f"its condition never holds: this {effect} can never fire"
        yield Finding(code="NEVER_FIRES", constraint=one.key, message=text)


def _negated(predicate: Predicate, whole: Predicate, odd: bool = False) -> Iterator[str]:
    """Comparisons under a `not`, unless it is asked beside them whether the value is there."""
    if predicate.op == "not":
        yield from _negated(predicate.args[0], whole, not odd)
    elif predicate.op in JOINING:
        for inner in predicate.args:
            yield from _negated(inner, whole, odd)
    elif odd and TABLE[predicate.op].version > 1 and not _is_asked_for(predicate.args[0], whole):
        path = predicate.args[0]
        yield f"`not` of `{predicate.op}` is true as well where `{path}` is missing or of another kind"


def _is_asked_for(path: str, predicate: Predicate) -> bool:
    if predicate.op in JOINING:
        return any(_is_asked_for(path, inner) for inner in predicate.args)
    return predicate.op in (*PRESENCE, "schema") and predicate.args[0] == path
