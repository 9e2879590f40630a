"""Which facts about calls there are, and what may stand beside them: derived from what is recorded.

A misspelled name is absent at run time, and a rule that reads what is absent never fires.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from beliefd.kernel.origin import CallFacts
from beliefd.kernel.substrate.operators import TABLE
from beliefd.kernel.substrate.predicates import CALL_FACTS, JOINING, Misfit, Predicate, holds
from beliefd.kernel.substrate.tools import CallFinding

BESIDE: Final = ("context", "shell")
"""Findings that stand under a name of their own."""
COMPARING: Final = ("eq", "in")


def misfits(predicate: Predicate, at: str = "when") -> Iterator[tuple[str, Misfit]]:
    """(what is wrong, where and what fits) of every condition on a fact that can never hold."""
    if predicate.op in JOINING:
        for number, inner in enumerate(predicate.args):
            yield from misfits(inner, f"{at}.args[{number}]")
        return
    path = predicate.args[0]
    if (meant := _almost(path)) is not None:
        yield f"`{path}` is no fact", Misfit(f"{at}.args[0]", path, (meant,))
    if not is_fact(path) or path == CALL_FACTS:
        return
    kind, known = _kind(path)
    if kind is None:
        yield f"`{path}` is no fact about a call", Misfit(f"{at}.args[0]", path, known)
        return
    if predicate.op not in COMPARING:
        if TABLE[predicate.op].version > 1:
            yield from _never(predicate, kind, at)
        return
    values = predicate.args[1] if predicate.op == "in" else predicate.args[1:]
    for number, value in enumerate(values):
        if not _fits(value, kind):
            place = f"{at}.args[1][{number}]" if predicate.op == "in" else f"{at}.args[1]"
            wrong = f"`{path}` is never {msgspec.json.encode(value).decode()}"
            yield wrong, Misfit(place, value, _words(kind))


def _never(predicate: Predicate, kind: Any, at: str) -> Iterator[tuple[str, Misfit]]:
    """The same of operators that are about numbers, texts or lists only."""
    operator, args, words = TABLE[predicate.op], predicate.args, _words(kind)
    if not operator.can_hold(_kinds(kind), args):
        meant = f"`{predicate.op}` is about {' and '.join(operator.kinds)}, which `{args[0]}` never is"
        yield meant, Misfit(f"{at}.args[0]", args[0])
    elif get_origin(kind) is Literal and not any(holds(predicate, {args[0]: one}, _trusted) for one in words):
        yield f"`{args[0]}` never {operator.words(args)[0]}", Misfit(f"{at}.args[1]", args[1], words)


def _trusted(_: str, __: Any) -> bool:
    return True


def _kinds(kind: Any) -> set[str]:
    """What a value of this type can be, as operators tell values apart."""
    if get_origin(kind) in (Union, UnionType):
        return {found for one in get_args(kind) for found in _kinds(one)}
    if get_origin(kind) is tuple:
        return {"list"}
    if get_origin(kind) is Literal or kind is str:
        return {"text"}
    return {"object"} if _is_struct(kind) else {"number"} if kind in (int, float) else set()


def is_fact(path: str) -> bool:
    return path == CALL_FACTS or path.startswith(f"{CALL_FACTS}.")


def _kind(path: str) -> tuple[Any, tuple[str, ...]]:
    """The type at a path, or None and the paths that could have been meant."""
    kind: Any = None
    fields: Mapping[str, Any] = fact_fields()
    head = CALL_FACTS
    for name in path.removeprefix(f"{CALL_FACTS}.").split("."):
        if name not in fields:
            return None, tuple(f"{head}.{one}" for one in fields) or (head,)
        kind, head = fields[name], f"{head}.{name}"
        fields = get_type_hints(kind) if _is_struct(kind) else {}
    return kind, ()


@cache
def fact_fields() -> Mapping[str, Any]:
    """The names under `fact.call`, with their types."""
    finding = get_type_hints(CallFinding)
    beside = {name: next(filter(_is_struct, get_args(finding[name]))) for name in BESIDE}
    return get_type_hints(CallFacts) | beside


def _almost(path: str) -> str | None:
    """`facts.call.tier`, `fact.cal.tier`: a key of the state that only looks like a fact."""
    first, _, rest = path.partition(".")
    second, _, rest = rest.partition(".")
    head = f"{first}.{second}"
    if head == CALL_FACTS or rest.partition(".")[0] not in fact_fields():
        return None
    return f"{CALL_FACTS}.{rest}" if get_close_matches(head, [CALL_FACTS], 1, 0.8) else None


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _words(kind: Any) -> tuple[str, ...]:
    """What may stand beside a fact, where that is one of a few words."""
    if kind is bool:
        return ("true", "false")
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    if get_origin(kind) in (Union, UnionType):
        return tuple(word for one in get_args(kind) for word in _words(one))
    return ()
