"""Failures in words: which constraint, which keys as they stand, and what would make it pass (DESIGN 9)."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from beliefd.kernel.context.words import origin_of
from beliefd.kernel.substrate.constraints import TEXT_TOO_LONG, Failure, Reason, Strictness
from beliefd.kernel.substrate.operators import TABLE, SchemaCheck, shown
from beliefd.kernel.substrate.paths import ABSENT, look_up
from beliefd.kernel.substrate.predicates import CALL_FACTS, Predicate, holds, paths_read
from beliefd.kernel.substrate.text_bounds import TextTooLong

MAX_WORDS: Final = 2_000
NO_ALLOW: Final = Reason(code="NO_ALLOW", text="no constraint allows it", remedy="an allow that applies")
PERSON: Final = "a person must approve"
ASKED: Final = "a person decides about it"


def rank(failure: Failure) -> tuple[int, str]:
    """The failure that decides comes first: the strictest, then by name."""
    return -Strictness[failure.constraint.on_fail], failure.constraint.key


def explain(failure: Failure, state: Mapping[str, Any], fits: SchemaCheck, *, by_effect: bool) -> Reason:
    """`state` is what the constraint was judged on, with the call in it where there is one.

    `by_effect`: what follows is told, too. What a person is asked about passes if the person approves it.
    """
    constraint = failure.constraint
    asks = by_effect and constraint.on_fail == "ask" and constraint.malformed is None
    keys: tuple[str, ...] = ()
    if constraint.malformed is not None:
        text = f"the constraint is malformed: {constraint.malformed}"
        remedy = "a constraint that can be read"
    elif failure.code == TEXT_TOO_LONG and constraint.when is not None:
        keys, text = tuple(sorted(paths_read(constraint.when))), _too_long(constraint.when, state, fits)
        remedy = "a shorter text, or a smaller pattern"
    elif constraint.when is None:
        keys = (failure.path,) if failure.path else ()
        text = constraint.reason or (ASKED if asks else "it is denied outright")
        remedy = constraint.remedy or (PERSON if asks else "nothing: there is no condition")
    else:
        wanted = constraint.effect == "allow"
        keys = tuple(sorted(paths_read(constraint.when)))
        text = constraint.reason or f"its condition must {'hold' if wanted else 'not hold'}"
        remedy = needed(constraint.when, wanted, state, fits)
        remedy = (f"{PERSON}, or {remedy}" if asks else remedy)[:MAX_WORDS]
    absent = tuple(key for key in keys if look_up(state, key) is ABSENT)
    return Reason(
        code=failure.code,
        text=text,
        constraint=constraint.key,
        keys=keys,
        remedy=remedy,
        origin=_origin(keys, state) or UNSET,
        missing=(absent or UNSET) if by_effect and constraint.on_fail == "defer" else UNSET,
    )


def _too_long(when: Predicate, state: Mapping[str, Any], fits: SchemaCheck) -> str:
    try:
        holds(when, state, fits)
    except TextTooLong as error:
        return f"its condition cannot be judged: {error}"
    return "its condition could not be judged: a text was too long"


def _is(predicate: Predicate, wanted: bool, state: Mapping[str, Any], fits: SchemaCheck) -> bool:
    """What cannot be said is not as it is wanted."""
    try:
        return holds(predicate, state, fits) is wanted
    except TextTooLong:
        return False


def _origin(keys: tuple[str, ...], state: Mapping[str, Any]) -> tuple[str, ...]:
    names = [key.removeprefix(f"{CALL_FACTS}.") for key in keys if key.startswith(f"{CALL_FACTS}.")]
    facts = look_up(state, CALL_FACTS) if names else None
    return origin_of(facts, names) if isinstance(facts, dict) else ()


def needed(predicate: Predicate, wanted: bool, state: Mapping[str, Any], fits: SchemaCheck) -> str:
    """What would make a predicate come out as wanted, which it does not in this state."""
    op, args = predicate.op, predicate.args
    if op == "not":
        return needed(args[0], not wanted, state, fits)
    if op in ("all", "any"):
        astray = [item for item in args if not _is(item, wanted, state, fits)]
        words = [needed(item, wanted, state, fits) for item in astray]
        joint = " and " if (op == "all") is wanted else " or "
        return f"({joint.join(words)})" if len(words) > 1 else (words or ["nothing: it is always so"])[0]
    said, opposite = TABLE[op].words(args)
    return f"`{args[0]}` {said if wanted else opposite} (now {_now(state, args[0])})"


def _now(state: Mapping[str, Any], path: str) -> str:
    found = look_up(state, path)
    return "missing" if found is ABSENT else shown(found)
