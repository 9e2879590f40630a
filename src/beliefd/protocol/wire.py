"""From bytes and texts to commands: strict JSON, closed types, and an error that points at the bad field."""

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from beliefd.kernel import patterns
from beliefd.kernel.errors import invalid
from beliefd.kernel.locating import located
from beliefd.kernel.strict_json import Unreadable, loads
from beliefd.kernel.values import MAX_ID_LENGTH, Id, shown
from beliefd.protocol.operation import Parameter

T = TypeVar("T")
_ID = re.compile(patterns.ID)
_WHOLE = re.compile(r"(0|[1-9][0-9]{0,15})")


def parse(data: bytes) -> Any:
    try:
        return loads(data)
    except Unreadable as error:
        raise invalid(error.message, error.path) from None


def parse_object(data: bytes) -> dict[str, Any]:
    """A body; an empty one is an object without fields."""
    value = parse(data) if data else {}
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
    return {
        parameter.name: _query_value(parameter, given[parameter.name])
        if parameter.name in given
        else parameter.default
        for parameter in parameters
    }


def _query_value(parameter: Parameter, text: str) -> Any:
    if parameter.kind is Id:
        return identifier(text, parameter.name)
    if get_origin(parameter.kind) is Literal:
        choices = get_args(parameter.kind)
        if text not in choices:
            raise invalid(f"`{parameter.name}` must be one of {', '.join(choices)}", parameter.name)
        return text
    if not _WHOLE.fullmatch(text):
        raise invalid(f"`{parameter.name}` must be a whole number", parameter.name)
    try:
        return msgspec.convert(int(text), parameter.kind)
    except msgspec.ValidationError as error:
        message, _ = located(error, text, parameter.kind)
        raise invalid(f"`{parameter.name}`: {message}", parameter.name) from None
