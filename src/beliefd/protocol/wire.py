"""From bytes and texts to commands: strict JSON, closed types, and an error that points at the bad field."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct

from beliefd.kernel import patterns
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.json_bounds import Crowded, weighed
from beliefd.kernel.locating import located
from beliefd.kernel.strict_json import Unreadable, loads
from beliefd.kernel.values import MAX_ID_LENGTH, Id, shown
from beliefd.protocol.operation import Parameter

T = TypeVar("T")
_ID = re.compile(patterns.ID)
CONVERTED_AT_ONCE: Final = 10_000
_WHOLE = re.compile(r"(0|[1-9][0-9]{0,15})")


def weight_of(data: bytes) -> int:
    """How many bytes a text counts for, or that there is too much in it."""
    try:
        return weighed(data)
    except Crowded as error:
        details = {"path": error.path, "limit": error.limit}
        raise BeliefdError(Code.INVALID_REQUEST, error.message, details) from None


def parse(data: bytes, known: bool = False) -> Any:
    """The value; `known` if the text has been weighed before."""
    if not known:
        weight_of(data)
    try:
        return loads(data)
    except Unreadable as error:
        raise invalid(error.message, error.path) from None


def parse_object(data: bytes, known: bool = False) -> dict[str, Any]:
    """A body; an empty one is an object without fields."""
    value = parse(data, known) if data else {}
    if not isinstance(value, dict):
        raise invalid(f"expected a JSON object, got `{type(value).__name__}`", "$")
    return value


def convert(value: Any, kind: type[T]) -> T:
    """Build `kind` from parsed JSON, or say which field is wrong and what would do."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, path = located(error, value, kind)
        raise invalid(message, path) from None


def convert_in_slices(value: dict[str, Any], kind: type[T]) -> T:
    """The same for a body with a long list in it, a slice of that at a time.

    One call that checks a million names keeps all other threads from running while it does.
    """
    name, length = longest_list(value)
    if length <= CONVERTED_AT_ONCE:
        return convert(value, kind)
    found: list[Any] = []
    for at in range(0, length, CONVERTED_AT_ONCE):
        try:
            part = convert({**value, name: value[name][at : at + CONVERTED_AT_ONCE]}, kind)
        except BeliefdError as error:
            raise _moved(error, f"$.{name}", at) from None
        found += getattr(part, name)
    return msgspec.structs.replace(part, **{name: type(getattr(part, name))(found)})  # type: ignore[type-var]


def longest_list(value: dict[str, Any]) -> tuple[str, int]:
    """The member of an object that is its longest list, and its length; 0 if there is none."""
    lengths = ((name, len(one)) for name, one in value.items() if type(one) is list)
    return max(lengths, key=lambda found: found[1], default=("", 0))


def _moved(error: BeliefdError, name: str, by: int) -> BeliefdError:
    """An error in a slice, with its path as it is in the whole list."""
    details = error.details or {}
    found = re.match(rf"{re.escape(name)}\[(\d+)\]", str(details.get("path", "")))
    if found is None:
        return error
    path = f"{name}[{int(found[1]) + by}]{details['path'][found.end() :]}"
    return BeliefdError(error.code, error.message, {**details, "path": path})


def bind(value: dict[str, Any], path_values: dict[str, str]) -> dict[str, Any]:
    """Fill in what the path already says; a body may repeat it but not contradict it."""
    for name, expected in path_values.items():
        if value.get(name, expected) != expected:
            raise invalid(f"`{name}` in the body is not the one in the path", f"$.{name}")
    bound = {**value, **path_values}
    bound.pop("session_id", None)  # it says which ledger is meant; it is not part of any command
    return bound


def identifier(text: str, name: str) -> str:
    """An id from a path or a query, within the bounds that ids have in bodies."""
    if not text or len(text) > MAX_ID_LENGTH or not _ID.match(text):
        raise invalid(f"`{name}` must be 1 to {MAX_ID_LENGTH} characters without control characters", name)
    return text


def query_values(parameters: Sequence[Parameter], given: dict[str, str]) -> dict[str, Any]:
    """Every parameter's value or default; unknown names and values out of bounds are refused."""
    unknown = sorted(set(given) - {parameter.name for parameter in parameters})
    if unknown:
        known = ", ".join(f"`{parameter.name}`" for parameter in parameters) or "none"
        raise invalid(f"unknown query parameter `{shown(unknown[0])}`; known: {known}", shown(unknown[0]))
    values = {
        parameter.name: _query_value(parameter, given[parameter.name])
        if parameter.name in given
        else parameter.default
        for parameter in parameters
    }
    missing = next((one.name for one in parameters if one.required and one.name not in given), None)
    if missing is not None:
        raise invalid(f"query parameter `{missing}` is missing", missing)
    return values


def _query_value(parameter: Parameter, text: str) -> Any:
    if parameter.kind is Id:
        return identifier(text, parameter.name)
    if get_origin(parameter.kind) is Literal:
        choices = get_args(parameter.kind)
        if text not in choices:
            raise invalid(f"`{parameter.name}` must be one of {', '.join(choices)}", parameter.name)
        return text
    if get_args(parameter.kind)[:1] == (str,):
        return _formed(parameter, text)
    if not _WHOLE.fullmatch(text):
        raise invalid(f"`{parameter.name}` must be a whole number", parameter.name)
    try:
        return msgspec.convert(int(text), parameter.kind)
    except msgspec.ValidationError as error:
        message, _ = located(error, text, parameter.kind)
        raise invalid(f"`{parameter.name}`: {message}", parameter.name) from None


def _formed(parameter: Parameter, text: str) -> str:
    """A text of a form of its own: its words say what fits, or only an answer tells it."""
    try:
        return msgspec.convert(text, parameter.kind)  # type: ignore[no-any-return]
    except msgspec.ValidationError:
        told = "is no cursor of this list; take it from `next`"
        told = f"`{parameter.name}` {f'must be {parameter.fits}' if parameter.fits else told}"
        raise invalid(told, parameter.name) from None


def is_longer(value: object, limit: int) -> bool:
    """Is it longer than so many bytes as JSON, or nearly so? It is looked at no further than needed."""
    left, todo = limit, [value]
    while todo and left >= 0:
        one = todo.pop()
        left -= len(one) if isinstance(one, str | bytes) else 2
        if isinstance(one, Struct):
            todo += [getattr(one, name) for name in one.__struct_fields__]
        elif isinstance(one, Mapping):
            for pair in islice(one.items(), max(left, 0)):
                todo += pair
        elif isinstance(one, list | tuple | set | frozenset):
            todo += islice(one, max(left, 0))
    return left < 0
