"""From bytes to commands: strict JSON, closed types, and an error that points at the bad field."""

import re
from typing import Any, TypeVar

import msgspec

from beliefd.kernel.errors import invalid
from beliefd.ledger.strict_json import Unreadable, loads

T = TypeVar("T")
_AT = re.compile(r" - at `(?P<path>[^`]*)`$")
_FIELD = re.compile(r"field `(?P<name>[^`]*)`$")


def parse(data: bytes) -> Any:
    try:
        return loads(data)
    except Unreadable as error:
        raise invalid(error.message, error.path) from None


def parse_object(data: bytes) -> dict[str, Any]:
    value = parse(data) if data else {}
    if not isinstance(value, dict):
        raise invalid(f"expected a JSON object, got `{type(value).__name__}`", "$")
    return value


def convert(value: Any, kind: type[T]) -> T:
    """Build `kind` from parsed JSON, or say which field is wrong and what would do."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, path = _located(str(error))
        raise invalid(message, path) from None


def bind(value: dict[str, Any], path_values: dict[str, str]) -> dict[str, Any]:
    """Fill in what the path already says; a body may repeat it but not contradict it."""
    for name, expected in path_values.items():
        given = value.pop(name, expected)
        if given != expected:
            raise invalid(f"`{name}` in the body is not the one in the path", f"$.{name}")
    return value


def _located(text: str) -> tuple[str, str]:
    at = _AT.search(text)
    path = at["path"] if at else "$"
    message = text[: at.start()] if at else text
    named = _FIELD.search(message)
    if named:
        path = f"{path}.{named['name']}"
    return message[0].lower() + message[1:], path
