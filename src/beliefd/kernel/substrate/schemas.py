"""JSON Schemas as constraints and tools name them. Judging never fetches anything: no file, no network."""

from collections.abc import Callable
from itertools import islice
from math import log
from typing import Any, Final, NoReturn

from beliefd.kernel.substrate.arbitration_policy import NEWEST_ENGINE, Engine
from beliefd.kernel.substrate.text_bounds import (
    MAX_COMPILED,
    TRIES_AGAIN,
    Reach,
    Sized,
    TextTooLong,
    smallest,
)
from beliefd.kernel.substrate.unfolding import looks_of
from beliefd.kernel.values import nested_deeper

MAX_PATTERN: Final = 1_000
EARLIER_COMPILED: Final = 1024 * 1024
"""What a pattern could take up in ledgers from before."""
DFA_BYTES: Final = 128 * 1024
"""What searching may keep beside a pattern, so that many patterns stay small."""
MAX_ERRORS: Final = 20
MAX_TOLD: Final = 100_000
"""What is wrong is told only where that takes no more schemas than this, those of alternatives counted."""
MAX_ERROR_LENGTH: Final = 300


class BadSchema(ValueError):
    """Not a schema, or one that refers to something outside itself."""


class Schema:
    """A schema, compiled once. Equal to another that says the same."""

    __slots__ = ("_looks", "_most", "_reach", "_validator", "compiled_bytes", "raw")

    def __init__(self, raw: Any, engine: Engine = NEWEST_ENGINE) -> None:
        self.raw = raw
        self._reach, self._most, self.compiled_bytes = Reach(raw), 0, 0
        try:
            # INVARIANT: the same schema judges the same value the same way, on any machine, at any time.
            if engine.bounded and self._reach.patterns:
                self._compile(engine.steps)
            else:
                self._validator = _validator(raw, engine.steps)
            self._looks = looks_of(raw) if engine.bounded else 1
        except ValueError as error:
            raise BadSchema(str(error).partition("\n")[0][:200]) from None

    def _compile(self, steps: int | None) -> None:
        sized = smallest(lambda size: _validator(self.raw, steps, size))
        self._validator = sized.made
        self.compiled_bytes = sized.size * self._reach.patterns
        self._most = sized.most if _is_linear(self.raw) else sized.most // TRIES_AGAIN

    def _too_long(self, value: Any) -> TextTooLong | None:
        if self._most and (reached := self._reach.of(value)) > self._most:
            return TextTooLong(reached, self._most)
        return None

    @property
    def is_bounded(self) -> bool:
        """Can a value be too long for it?"""
        return self._most > 0

    def _takes_long_to_tell(self, value: Any) -> bool:
        """What is wrong is told of all alternatives: with every level, there are so many times more. That
        something is wrong takes one look at every part of the value.
        """
        levels = 0 if self._looks == 1 else int(log(MAX_TOLD, self._looks))
        return self._looks > 1 and nested_deeper(value, levels)

    def fits(self, value: Any) -> bool:
        """Raises `TextTooLong`, where that cannot be said."""
        if (problem := self._too_long(value)) is not None:
            raise problem
        return bool(self._validator.is_valid(value))

    def errors(self, value: Any) -> tuple[str, ...]:
        """What does not fit, as far as a person reads: errors repeat the value, and all are recorded."""
        if (problem := self._too_long(value)) is not None:
            return (f"`$`: too long for the patterns of the schema: {problem}",)
        if self._validator.is_valid(value):
            return ()
        if self._takes_long_to_tell(value):
            return ("`$`: it does not fit; where is not told of what is nested so deep",)
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

    INVARIANT: searching takes time in proportion to the text, and never more than `MAX_WORK` takes.
    """

    __slots__ = ("_most", "_search", "compiled_bytes")
    _most: int | None
    _search: Callable[[str], bool]
    compiled_bytes: int

    def __new__(cls, text: str, engine: Engine = NEWEST_ENGINE) -> "Pattern":
        if len(text) > MAX_PATTERN:
            raise BadPattern(f"a pattern has at most {MAX_PATTERN} characters, and this one {len(text)}")
        made = super().__new__(cls, text)
        try:
            sized = smallest(lambda size: _linear(text, size)) if engine.bounded else _earlier(text)
        except ValueError:
            raise BadPattern(_not_linear(text, engine)) from None
        made._search, made.compiled_bytes = sized.made.is_valid, sized.size
        made._most = sized.most if engine.bounded else None
        return made

    @property
    def is_bounded(self) -> bool:
        return self._most is not None

    def found_in(self, text: str) -> bool:
        """Is it anywhere in a text? Raises `TextTooLong`, where that takes too long to say."""
        if self._most is not None and len(text) > self._most:
            raise TextTooLong(len(text), self._most)
        return bool(self._search(text))


def _not_linear(text: str, engine: Engine) -> str:
    try:
        _validator({"pattern": text}, engine.steps, MAX_COMPILED if engine.bounded else None)
    except ValueError:
        return "it is no regular expression, or too large a one"
    return "it looks around, refers back or repeats too often, which takes more than linear time"


def _library() -> Any:
    """The library, with the first schema: it takes a while to load, and few commands come to one."""
    import jsonschema_rs

    return jsonschema_rs


def _validator(raw: Any, steps: int | None, size: int | None = None) -> Any:
    """`steps` and `size` are bounded, where they are given."""
    options: dict[str, int] = {} if steps is None else {"backtrack_limit": steps}
    if size is not None:
        options |= {"size_limit": size, "dfa_size_limit": DFA_BYTES}
    engine = _library().FancyRegexOptions(**options) if options else None
    return _library().validator_for(raw, retriever=_fetch_nothing, pattern_options=engine)


def _linear(text: str, size: int, dfa: int = DFA_BYTES) -> Any:
    options = _library().RegexOptions(size_limit=size, dfa_size_limit=dfa)
    return _library().validator_for({"pattern": text}, pattern_options=options)


def _earlier(text: str) -> Sized:
    return Sized(_linear(text, EARLIER_COMPILED, EARLIER_COMPILED), EARLIER_COMPILED)


def _is_linear(raw: Any) -> bool:
    """Do all patterns of a schema do without trying again?"""
    options = _library().RegexOptions(size_limit=MAX_COMPILED, dfa_size_limit=DFA_BYTES)
    try:
        _library().validator_for(raw, retriever=_fetch_nothing, pattern_options=options)
    except ValueError:
        return False
    return True


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"`{uri}` is outside the schema")
