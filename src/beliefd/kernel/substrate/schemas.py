"""JSON Schemas as constraints and tools name them. Judging never fetches anything: no file, no network."""

from collections.abc import Callable
from itertools import islice
from typing import Any, Final, NoReturn

import jsonschema_rs

from beliefd.kernel.substrate.arbitration_policy import STEPS

MAX_PATTERN: Final = 1_000
MAX_COMPILED: Final = 1024 * 1024
LINEAR: Final = jsonschema_rs.RegexOptions(size_limit=MAX_COMPILED, dfa_size_limit=MAX_COMPILED)
MAX_ERRORS: Final = 20
MAX_ERROR_LENGTH: Final = 300


class BadSchema(ValueError):
    """Not a schema, or one that refers to something outside itself."""


class Schema:
    """A schema, compiled once. Equal to another that says the same."""

    __slots__ = ("_validator", "raw")

    def __init__(self, raw: Any, steps: int | None = STEPS) -> None:
        self.raw = raw
        engine = None if steps is None else jsonschema_rs.FancyRegexOptions(backtrack_limit=steps)
        try:
            # INVARIANT: the same schema judges the same value the same way, on any machine, at any time.
            self._validator = jsonschema_rs.validator_for(
                raw, retriever=_fetch_nothing, pattern_options=engine
            )
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


class BadPattern(ValueError):
    """Not a pattern, or one that cannot be searched for in linear time."""


class Pattern(str):
    """A regular expression in the syntax of Rust, compiled once. It is the text as it was written.

    INVARIANT: searching takes time in proportion to the text, whatever the pattern.
    """

    __slots__ = ("found_in",)
    found_in: Callable[[str], bool]
    """Is it anywhere in a text?"""

    def __new__(cls, text: str) -> "Pattern":
        if len(text) > MAX_PATTERN:
            raise BadPattern(f"a pattern has at most {MAX_PATTERN} characters, and this one {len(text)}")
        made = super().__new__(cls, text)
        try:
            made.found_in = jsonschema_rs.validator_for({"pattern": text}, pattern_options=LINEAR).is_valid
        except ValueError:
            raise BadPattern(_not_linear(text)) from None
        return made


def _not_linear(text: str) -> str:
    try:
        Schema({"pattern": text})
    except BadSchema:
        return "it is no regular expression, or too large a one"
    return "it looks around, refers back or repeats too often, which takes more than linear time"


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"`{uri}` is outside the schema")
