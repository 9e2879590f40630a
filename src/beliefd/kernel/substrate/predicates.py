"""The predicate language of `when`: eight operators, parsed once, never guessed at.

INVARIANT: what is not exactly a predicate is `Malformed`, and a malformed constraint denies.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, get_args

from msgspec import Struct

from beliefd.kernel.substrate.paths import ABSENT, look_up, same
from beliefd.kernel.substrate.schemas import BadSchema, Schema

MAX_DEPTH: Final = 32
MAX_NODES: Final = 1_000
MAX_PATH: Final = 1_024
CALL: Final = "call"
"""The key under which the kernel writes down the call itself before rules run."""
CALL_FACTS: Final = "fact.call"
"""The key under which it writes down where the values of the call came from."""

SchemaCheck = Callable[[str, Any], bool]
"""(name of a schema that is known, value) -> does it fit?"""


class Misfit(Struct, frozen=True):
    """For who writes a policy: a place inside a constraint, what stands there, and what could."""

    at: str = ""
    got: Any = None
    allowed: tuple[str, ...] = ()


class Malformed(ValueError):
    """Not a predicate or constraint of version 1; the message says what is wrong and where.

    The message is recorded with decisions, so what each says stays as it is.
    """

    def __init__(self, message: str, at: str = "", got: Any = None, allowed: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.misfit = Misfit(at, got, tuple(allowed))


Operator = Literal["all", "any", "not", "eq", "in", "exists", "missing", "schema"]
OPERATORS: Final[tuple[str, ...]] = get_args(Operator)


class Predicate(Struct, frozen=True):
    """One operator. `args` are predicates for all, any, not; for the others a path and plain values.

    A schema written out stands there compiled, one that is named by its name.
    """

    op: Operator
    args: tuple[Any, ...]


def parse(raw: Any, path: str = "when") -> Predicate:
    return _parse(raw, path, 0, [0])


def _parse(raw: Any, path: str, depth: int, count: list[int]) -> Predicate:
    count[0] += 1
    if depth > MAX_DEPTH or count[0] > MAX_NODES:
        raise Malformed(
            f"`{path}` is nested deeper than {MAX_DEPTH} or holds more than {MAX_NODES} operators", path
        )
    if not isinstance(raw, dict) or set(raw) != {"op", "args"} or not isinstance(raw["args"], list | tuple):
        raise Malformed(f"`{path}` is not an object with just `op` and a list of `args`", path)
    op, args = raw["op"], raw["args"]
    if op not in OPERATORS:
        raise Malformed(f"`{path}.op` is none of {', '.join(OPERATORS)}", f"{path}.op", op, OPERATORS)
    if op in ("all", "any", "not"):
        if op == "not" and len(args) != 1:
            raise Malformed(f"`{path}`: not takes one predicate, got {len(args)}", f"{path}.args")
        inner = (_parse(item, f"{path}.args[{at}]", depth + 1, count) for at, item in enumerate(args))
        return Predicate(op, tuple(inner))
    check, takes = _ARGUMENTS[op]
    if not check(args):
        raise Malformed(f"`{path}`: {op} takes {takes}", f"{path}.args")
    if op == "schema" and isinstance(args[1], dict):
        return Predicate(op, (args[0], _schema(args[1], path)))
    return Predicate(op, tuple(args))


def _schema(raw: dict[str, Any], path: str) -> Schema:
    try:
        return Schema(raw)
    except BadSchema as error:
        raise Malformed(f"`{path}`: not a schema: {error}", f"{path}.args[1]") from None


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_PATH


_ARGUMENTS: Final[dict[Operator, tuple[Callable[[Any], bool], str]]] = {
    "eq": (lambda args: len(args) == 2 and _is_path(args[0]), "a path and a value"),
    "in": (
        lambda args: len(args) == 2 and _is_path(args[0]) and isinstance(args[1], list | tuple),
        "a path and a list of values",
    ),
    "exists": (lambda args: len(args) == 1 and _is_path(args[0]), "one path"),
    "missing": (lambda args: len(args) == 1 and _is_path(args[0]), "one path"),
    "schema": (
        lambda args: len(args) == 2 and _is_path(args[0]) and isinstance(args[1], str | dict),
        "a path and a schema or the name of one",
    ),
}
"""What operators take that look at the state, and what that is called. The others take predicates."""


def holds(predicate: Predicate, state: Mapping[str, Any], fits: SchemaCheck) -> bool:
    """Is it true in this state? The call, if there is one, stands under `call`."""
    op, args = predicate.op, predicate.args
    if op == "all":
        return all(holds(item, state, fits) for item in args)
    if op == "any":
        return any(holds(item, state, fits) for item in args)
    if op == "not":
        return not holds(args[0], state, fits)
    found = look_up(state, args[0])
    if op == "exists":
        return found is not ABSENT
    if op == "missing":
        return found is ABSENT
    if found is ABSENT:
        return False
    if op == "eq":
        return same(found, args[1])
    if op == "in":
        return any(same(found, value) for value in args[1])
    return args[1].fits(found) if isinstance(args[1], Schema) else fits(args[1], found)


def paths_read(predicate: Predicate) -> frozenset[str]:
    """Every path a predicate looks at."""
    if predicate.op in ("all", "any", "not"):
        return frozenset[str]().union(*(paths_read(item) for item in predicate.args))
    return frozenset({predicate.args[0]})


def schemas_named(predicate: Predicate) -> frozenset[str]:
    """Every schema that a predicate knows by name only."""
    if predicate.op in ("all", "any", "not"):
        return frozenset[str]().union(*(schemas_named(item) for item in predicate.args))
    named = predicate.op == "schema" and isinstance(predicate.args[1], str)
    return frozenset({predicate.args[1]}) if named else frozenset()


def reads_call(predicate: Predicate) -> bool:
    """Does it depend on the call as well as on the state?"""
    return any(is_of_call(path) for path in paths_read(predicate))


def is_of_call(path: str) -> bool:
    return any(path == key or path.startswith(f"{key}.") for key in (CALL, CALL_FACTS))
