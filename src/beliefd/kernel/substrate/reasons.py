"""Failures in words: which constraint, which keys as they stand, and what would make it pass (DESIGN 9)."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.context.words import origin_of
from beliefd.kernel.substrate.constraints import Failure, Reason, Strictness
from beliefd.kernel.substrate.paths import ABSENT, look_up
from beliefd.kernel.substrate.predicates import CALL_FACTS, Predicate, SchemaCheck, holds, paths_read
from beliefd.kernel.substrate.schemas import Schema

SHOWN: Final = 80
"""So much of a value is repeated in a reason; reasons are recorded with every refusal."""
MAX_WORDS: Final = 2_000
NO_ALLOW: Final = Reason(code="NO_ALLOW", text="no constraint allows it", remedy="an allow that applies")


def in_order(failures: tuple[Failure, ...]) -> list[Failure]:
    """The failure that decides comes first: the strictest, then by name."""
    return sorted(failures, key=lambda item: (-Strictness[item.constraint.on_fail], item.constraint.key))


def explain(failure: Failure, state: Mapping[str, Any], fits: SchemaCheck) -> Reason:
    """`state` is what the constraint was judged on, with the call in it where there is one."""
    constraint = failure.constraint
    keys: tuple[str, ...] = ()
    if constraint.malformed is not None:
        text = f"the constraint is malformed: {constraint.malformed}"
        remedy = "a constraint that can be read"
    elif constraint.when is None:
        text = constraint.reason or "it is denied outright"
        remedy = constraint.remedy or "nothing: there is no condition"
    else:
        wanted = constraint.effect == "allow"
        keys = tuple(sorted(paths_read(constraint.when)))
        text = constraint.reason or f"its condition must {'hold' if wanted else 'not hold'}"
        remedy = needed(constraint.when, wanted, state, fits)[:MAX_WORDS]
    return Reason(
        code=failure.code,
        text=text,
        constraint=constraint.key,
        keys=keys,
        remedy=remedy,
        origin=_origin(keys, state) or UNSET,
    )


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
        astray = [item for item in args if holds(item, state, fits) is not wanted]
        words = [needed(item, wanted, state, fits) for item in astray]
        joint = " and " if (op == "all") is wanted else " or "
        return f"({joint.join(words)})" if len(words) > 1 else (words or ["nothing: it is always so"])[0]
    return f"{_leaf(predicate, wanted)} (now {_now(state, args[0])})"


def _leaf(predicate: Predicate, wanted: bool) -> str:
    op, args = predicate.op, predicate.args
    if op in ("exists", "missing"):
        return f"`{args[0]}` {'exists' if (op == 'exists') is wanted else 'is missing'}"
    no = "" if wanted else "not "
    if op == "schema":
        name = "the schema given" if isinstance(args[1], Schema) else f"schema `{args[1]}`"
        return f"`{args[0]}` {'fits' if wanted else 'does not fit'} {name}"
    return f"`{args[0]}` is {no}{'one of ' if op == 'in' else ''}{shown(args[1])}"


def _now(state: Mapping[str, Any], path: str) -> str:
    found = look_up(state, path)
    return "missing" if found is ABSENT else shown(found)


def shown(value: Any) -> str:
    try:
        text = canonical(value).decode()
    except NotCanonical:  # only where files are tried out: what is recorded has a canonical form
        text = "what is no JSON"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
