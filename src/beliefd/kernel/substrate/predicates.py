"""The predicate language of `when`: operators and what joins them, parsed once, never guessed at.

INVARIANT: what is not exactly a predicate is `Malformed`, and a malformed constraint denies.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.substrate.arbitration_policy import NEWEST_ENGINE, VERSION, Engine
from beliefd.kernel.substrate.operators import TABLE, SchemaCheck
from beliefd.kernel.substrate.paths import ABSENT, keys_of, look_up
from beliefd.kernel.substrate.schemas import BadPattern, BadSchema
from beliefd.kernel.substrate.text_bounds import TextTooLong

MAX_DEPTH: Final = 32
MAX_NODES: Final = 1_000
CALL: Final = "call"
"""The key under which the kernel writes down the call itself before rules run."""
ARGUMENTS: Final = f"{CALL}.args."
CALL_FACTS: Final = "fact.call"
"""The key under which it writes down where the values of the call came from."""


class Misfit(Struct, frozen=True):
    """For who writes a policy: a place inside a constraint, what stands there, and what could."""

    at: str = ""
    got: Any = None
    allowed: tuple[str, ...] = ()


class Malformed(ValueError):
    """Not a predicate or constraint; the message says what is wrong and where.

    The message is recorded with decisions, so what each says stays as it is.
    """

    def __init__(self, message: str, at: str = "", got: Any = None, allowed: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.misfit = Misfit(at, got, tuple(allowed))


JOINING: Final = ("all", "any", "not")
"""What takes predicates; all others take a path and plain values."""


def operators(version: int) -> tuple[str, ...]:
    """What may stand as `op`."""
    return (*JOINING, *(name for name, one in TABLE.items() if one.version <= version))


OPERATORS: Final = operators(1)
BY_VERSION: Final = {version: operators(version) for version in range(1, VERSION + 1)}


class Predicate(Struct, frozen=True):
    """One operator. `args` are predicates for all, any, not; for the others a path and plain values.

    A schema written out stands there compiled, one that is named by its name.
    """

    op: str
    args: tuple[Any, ...]


class _Reading(Struct):
    """What is read so far, and by which rules."""

    version: int
    engine: Engine
    widely: bool = True
    count: int = 0


def parse(
    raw: Any,
    path: str = "when",
    version: int = VERSION,
    engine: Engine = NEWEST_ENGINE,
    *,
    widely: bool = True,
) -> Predicate:
    """`widely`: times in values are read in every way that they may be written."""
    return _parse(raw, path, 0, _Reading(version, engine, widely))


def _parse(raw: Any, path: str, depth: int, reading: _Reading) -> Predicate:
    reading.count += 1
    if depth > MAX_DEPTH or reading.count > MAX_NODES:
        raise Malformed(
            f"`{path}` is nested deeper than {MAX_DEPTH} or holds more than {MAX_NODES} operators", path
        )
    if not isinstance(raw, dict) or set(raw) != {"op", "args"} or not isinstance(raw["args"], list | tuple):
        raise Malformed(f"`{path}` is not an object with just `op` and a list of `args`", path)
    op, args, known = raw["op"], raw["args"], BY_VERSION[reading.version]
    if op not in known:
        raise Malformed(f"`{path}.op` is none of {', '.join(known)}", f"{path}.op", op, known)
    if op in JOINING:
        if op == "not" and len(args) != 1:
            raise Malformed(f"`{path}`: not takes one predicate, got {len(args)}", f"{path}.args")
        inner = (_parse(item, f"{path}.args[{at}]", depth + 1, reading) for at, item in enumerate(args))
        return Predicate(op, tuple(inner))
    return Predicate(op, _arguments(op, tuple(args), path, reading))


def _arguments(op: str, args: tuple[Any, ...], path: str, reading: _Reading) -> tuple[Any, ...]:
    known = TABLE[op]
    if not known.accepts(args):
        raise Malformed(f"`{path}`: {op} takes {known.takes}", f"{path}.args")
    try:
        prepared = known.prepared(args, reading.engine)
    except BadSchema as error:
        raise Malformed(f"`{path}`: not a schema: {error}", f"{path}.args[1]") from None
    except BadPattern as error:
        raise Malformed(f"`{path}`: not a pattern: {error}", f"{path}.args[1]") from None
    return known.widely(prepared) if reading.widely else prepared


def holds(predicate: Predicate, state: Mapping[str, Any], fits: SchemaCheck) -> bool:
    """Is it true in this state? The call, if there is one, stands under `call`.

    Raises `TextTooLong`, where that hangs on a text that is too long for its pattern.
    """
    op, args = predicate.op, predicate.args
    if op == "all":
        return all(holds(item, state, fits) for item in args)
    if op == "any":
        return any(holds(item, state, fits) for item in args)
    if op == "not":
        return not holds(args[0], state, fits)
    found = look_up(state, args[0])
    if found is ABSENT:
        return op == "missing"
    try:
        return TABLE[op].holds(found, args, state, fits)
    except TextTooLong as error:
        raise error.at(args[0]) from None


def paths_read(predicate: Predicate) -> frozenset[str]:
    """Every path a predicate looks at."""
    if predicate.op in JOINING:
        return frozenset[str]().union(*(paths_read(item) for item in predicate.args))
    return frozenset({predicate.args[0], *TABLE[predicate.op].reads})


def schemas_named(predicate: Predicate) -> frozenset[str]:
    """Every schema that a predicate knows by name only."""
    if predicate.op in JOINING:
        return frozenset[str]().union(*(schemas_named(item) for item in predicate.args))
    named = predicate.op == "schema" and isinstance(predicate.args[1], str)
    return frozenset({predicate.args[1]}) if named else frozenset()


def reads_call(predicate: Predicate) -> bool:
    """Does it depend on the call, or on the time, as well as on the state?"""
    return any(is_of_call(path) for path in paths_read(predicate))


def ambiguous_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Those that what others write can make ambiguous: two steps or more below a namespace or the arguments.

    All else that stands under `call` and `fact.call` is written by the kernel, under names without dots.
    """
    found = []
    for path in sorted(paths):
        own = path.startswith(ARGUMENTS) or not is_of_call(path)
        rest = path.removeprefix(ARGUMENTS) if path.startswith(ARGUMENTS) else path.partition(".")[2]
        if own and "." in rest:
            found.append(path)
    return tuple(found)


def read_through(paths: Iterable[str]) -> dict[str, list[str]]:
    """By key, the paths that can lead through it and must not be ambiguous."""
    found: dict[str, list[str]] = {}
    for path in ambiguous_paths(set(paths)):
        for key in keys_of(path):
            found.setdefault(key, []).append(path)
    return found


def is_of_call(path: str) -> bool:
    return any(path == key or path.startswith(f"{key}.") for key in (CALL, CALL_FACTS))
