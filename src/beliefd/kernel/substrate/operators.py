"""What operators compare a value of the state with: arguments, truth and words of each, in one table.

`all`, `any` and `not` are not here: they join what these say.
INVARIANT: a value of the wrong kind makes no comparison true, and none an error.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, get_args

from msgspec import Struct

from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.substrate.arbitration_policy import Engine
from beliefd.kernel.substrate.comparing import (
    Bound,
    Comparison,
    Members,
    comparable,
    compare,
    is_number,
    is_whole,
    key_of,
    moment,
)
from beliefd.kernel.substrate.paths import look_up, same
from beliefd.kernel.substrate.schemas import Pattern, Schema

SchemaCheck = Callable[[str, Any], bool]
"""(name of a schema that is known, value) -> does it fit?"""
MAX_PATH: Final = 1_024
SHOWN: Final = 80
"""So much of a value is repeated in a reason; reasons are recorded with every refusal."""
NOW: Final = "call.now"
"""Where the kernel writes down the time of the decision."""
WIDELY: Final = "widely"
"""Beside the seconds of an age: the time is read in every way that it may be written."""
COMPARISONS: Final[tuple[str, ...]] = get_args(Comparison)
COUNTED: Final = (*COMPARISONS, "eq")

Args = tuple[Any, ...]
"""A path first, then what the value there is held against."""
Truth = Callable[[Any, Args, Mapping[str, Any], SchemaCheck], bool]
Kind = Literal["number", "text", "list", "object"]
"""What a value is, as far as operators of version 2 tell values apart."""


class Operator(Struct, frozen=True):
    """One operator. `takes` says in words what `accepts` checks; `holds` is asked only where something is
    at the path. `words` gives what is wanted of the value, and what is wanted if it is not to hold.

    `prepared` makes of the arguments what is needed to judge quickly. `reads` are paths beside its own.
    `widely` makes of the arguments what reads times in every way they are written.
    `kinds` are the values that one of version 2 can be true of; those of version 1 are about anything.
    """

    takes: str
    accepts: Callable[[Args], bool]
    holds: Truth
    words: Callable[[Args], tuple[str, str]]
    prepared: Callable[[Args, Engine], Args] = lambda args, _: args
    widely: Callable[[Args], Args] = lambda args: args
    version: int = 2
    reads: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = get_args(Kind)

    def can_hold(self, kinds: Iterable[str], args: Args) -> bool:
        """Can it be true of such values? A number is compared with numbers, a time with times."""
        mine: Iterable[str] = self.kinds
        if "number" in mine and "text" in mine:
            mine = ("number",) if is_number(args[1]) else ("text",)
        return not set(kinds).isdisjoint(mine)


def _path_and(*checks: Callable[[Any], bool]) -> Callable[[Args], bool]:
    def accepts(args: Args) -> bool:
        fits = len(args) == len(checks) + 1 and is_path(args[0])
        return fits and all(check(value) for check, value in zip(checks, args[1:], strict=True))

    return accepts


def is_path(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_PATH


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def shown(value: Any) -> str:
    try:
        text = canonical(value).decode()
    except NotCanonical:  # only where files are tried out: what is recorded has a canonical form
        text = "what is no JSON"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _is(words: str) -> tuple[str, str]:
    return f"is {words}", f"is not {words}"


def _schema(args: Args, engine: Engine) -> Args:
    return (args[0], Schema(args[1], engine)) if isinstance(args[1], dict) else args


def _fits_schema(found: Any, args: Args, _: Mapping[str, Any], fits: SchemaCheck) -> bool:
    return args[1].fits(found) if isinstance(args[1], Schema) else fits(args[1], found)


def _schema_words(args: Args) -> tuple[str, str]:
    name = "the schema given" if isinstance(args[1], Schema) else f"schema `{args[1]}`"
    return f"fits {name}", f"does not fit {name}"


def _older(found: Any, args: Args, state: Mapping[str, Any], _: SchemaCheck) -> bool:
    then, now = moment(found, wide=len(args) > 2), moment(look_up(state, NOW), wide=False)
    return then is not None and now is not None and (now - then).total_seconds() > args[1]


def _subset(found: Any, args: Args, _: Mapping[str, Any], __: SchemaCheck) -> bool:
    return _is_list(found) and all(key_of(one) in args[1].keys for one in found)


def _intersects(found: Any, args: Args, _: Mapping[str, Any], __: SchemaCheck) -> bool:
    return _is_list(found) and any(key_of(one) in args[1].keys for one in found)


def _counted(found: Any, args: Args, _: Mapping[str, Any], __: SchemaCheck) -> bool:
    return isinstance(found, dict | list | tuple) and compare(args[1], len(found), args[2])


def _in_order(args: Args) -> bool:
    return _path_and(comparable, comparable)(args) and compare("le", args[1], args[2])


_NUMBERS: Final = {"lt": "less than", "le": "at most", "gt": "more than", "ge": "at least", "eq": "exactly"}
_TIMES: Final = {"lt": "before", "le": "no later than", "gt": "after", "ge": "no earlier than"}


def _comparison(op: Comparison) -> Operator:
    def holds(found: Any, args: Args, _: Mapping[str, Any], __: SchemaCheck) -> bool:
        return compare(op, found, args[1])

    def words(args: Args) -> tuple[str, str]:
        return _is(f"{(_NUMBERS if is_number(args[1]) else _TIMES)[op]} {shown(args[1])}")

    takes = "a path and a number or an ISO time"
    return Operator(
        takes, _path_and(comparable), holds, words, _bounds, _wide_bounds, kinds=("number", "text")
    )


def _bounds(args: Args, _: Engine) -> Args:
    """Times are read once."""
    return (args[0], *(Bound(one) if isinstance(one, str) else one for one in args[1:]))


def _wide_bounds(args: Args) -> Args:
    return (args[0], *(Bound(one, wide=True) if isinstance(one, str) else one for one in args[1:]))


def _members(args: Args, _: Engine) -> Args:
    return args[0], Members(args[1])


TABLE: Final[dict[str, Operator]] = {
    "eq": Operator(
        "a path and a value",
        _path_and(lambda _: True),
        lambda found, args, _, __: same(found, args[1]),
        lambda args: _is(shown(args[1])),
        version=1,
    ),
    "in": Operator(
        "a path and a list of values",
        _path_and(_is_list),
        lambda found, args, _, __: any(same(found, value) for value in args[1]),
        lambda args: _is(f"one of {shown(args[1])}"),
        version=1,
    ),
    "exists": Operator(
        "one path", _path_and(), lambda *_: True, lambda _: ("exists", "is missing"), version=1
    ),
    "missing": Operator(
        "one path", _path_and(), lambda *_: False, lambda _: ("is missing", "exists"), version=1
    ),
    "schema": Operator(
        "a path and a schema or the name of one",
        _path_and(lambda value: isinstance(value, str | dict)),
        _fits_schema,
        _schema_words,
        _schema,
        version=1,
    ),
    **{op: _comparison(op) for op in get_args(Comparison)},
    "between": Operator(
        "a path, a low and a high end: two numbers or two ISO times, the low one first",
        _in_order,
        lambda found, args, _, __: compare("ge", found, args[1]) and compare("le", found, args[2]),
        lambda args: _is(f"between {shown(args[1])} and {shown(args[2])}"),
        _bounds,
        _wide_bounds,
        kinds=("number", "text"),
    ),
    "age_over": Operator(
        "a path and a number of seconds, 0 or more",
        _path_and(lambda value: is_number(value) and value >= 0),
        _older,
        lambda args: _is(f"older than {shown(args[1])} seconds"),
        widely=lambda args: (*args, WIDELY),
        reads=(NOW,),
        kinds=("text",),
    ),
    "starts_with": Operator(
        "a path and a text",
        _path_and(_is_text),
        lambda found, args, _, __: isinstance(found, str) and found.startswith(args[1]),
        lambda args: (f"starts with {shown(args[1])}", f"does not start with {shown(args[1])}"),
        kinds=("text",),
    ),
    "ends_with": Operator(
        "a path and a text",
        _path_and(_is_text),
        lambda found, args, _, __: isinstance(found, str) and found.endswith(args[1]),
        lambda args: (f"ends with {shown(args[1])}", f"does not end with {shown(args[1])}"),
        kinds=("text",),
    ),
    "matches": Operator(
        "a path and a pattern",
        _path_and(_is_text),
        lambda found, args, _, __: isinstance(found, str) and args[1].found_in(found),
        lambda args: (f"matches {shown(args[1])}", f"does not match {shown(args[1])}"),
        lambda args, engine: (args[0], Pattern(args[1], engine)),
        kinds=("text",),
    ),
    "subset": Operator(
        "a path and a list of values",
        _path_and(_is_list),
        _subset,
        lambda args: (f"lists only some of {shown(args[1])}", f"does not list only some of {shown(args[1])}"),
        _members,
        kinds=("list",),
    ),
    "intersects": Operator(
        "a path and a list of values",
        _path_and(_is_list),
        _intersects,
        lambda args: (f"lists one of {shown(args[1])}", f"lists none of {shown(args[1])}"),
        _members,
        kinds=("list",),
    ),
    "count": Operator(
        f"a path, one of {', '.join(COUNTED)}, and a whole number, 0 or more",
        _path_and(lambda op: isinstance(op, str) and op in COUNTED, is_whole),
        _counted,
        lambda args: (
            f"holds {_NUMBERS[args[1]]} {shown(args[2])}",
            f"does not hold {_NUMBERS[args[1]]} {shown(args[2])}",
        ),
        kinds=("list", "object"),
    ),
}
"""Every operator that looks at the state, by name."""
