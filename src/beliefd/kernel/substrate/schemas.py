"""JSON Schemas as constraints and tools name them. Judging never fetches anything: no file, no network."""

from typing import Any, NoReturn

import jsonschema_rs


class BadSchema(ValueError):
    """Not a schema, or one that refers to something outside itself."""


class Schema:
    """A schema, compiled once. Equal to another that says the same."""

    __slots__ = ("_validator", "raw")

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        try:
            # INVARIANT: the same schema judges the same value the same way, on any machine, at any time.
            self._validator = jsonschema_rs.validator_for(raw, retriever=_fetch_nothing)
        except ValueError as error:
            raise BadSchema(str(error).partition("\n")[0][:200]) from None

    def fits(self, value: Any) -> bool:
        return bool(self._validator.is_valid(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.raw == other.raw

    __hash__ = None  # type: ignore[assignment]


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"`{uri}` is outside the schema")
