"""JSON Schemas as constraints and tools name them. Judging never fetches anything: no file, no network."""

from itertools import islice
from typing import Any, Final, NoReturn

import jsonschema_rs

MAX_ERRORS: Final = 20
MAX_ERROR_LENGTH: Final = 300


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

    def errors(self, value: Any) -> tuple[str, ...]:
        """What does not fit, as far as a person reads: errors repeat the value, and all are recorded."""
        found = []
        for error in islice(self._validator.iter_errors(value), MAX_ERRORS):
            place = ".".join(str(step) for step in error.instance_path) or "$"
            found.append(f"`{place}`: {error.message}"[:MAX_ERROR_LENGTH])
        return tuple(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.raw == other.raw

    __hash__ = None  # type: ignore[assignment]


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"`{uri}` is outside the schema")
