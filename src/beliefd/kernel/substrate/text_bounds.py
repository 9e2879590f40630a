"""How much text patterns may be held against: what one search costs at most follows from both sizes.

INVARIANT: a text that is too long for its patterns is no match and no mismatch: it cannot be judged. What
asks about it denies (`TEXT_TOO_LONG`).
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final, TypeVar

from msgspec import Struct

T = TypeVar("T")
MAX_COMPILED: Final = 64 * 1024
"""So many bytes a compiled pattern may take up. Searching visits at most all of it per character."""
SIZES: Final = (256, 1024, 4 * 1024, 16 * 1024, MAX_COMPILED)
"""Patterns are told apart by the smallest of these that they fit into."""
MAX_WORK: Final = 256 * 1024 * 1024
"""Bytes of pattern times characters of text that are searched at one go: some tenths of a second at worst."""
TRIES_AGAIN: Final = 64
"""So much more a pattern with look-around counts: it looks at a text more than once."""
PATTERN: Final = "pattern"
PATTERNS: Final = "patternProperties"
REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
PLAIN: Final = frozenset({"enum", "const", "default", "examples", "$defs", "definitions", "required", "type"})
"""Keywords whose values hold no schema that is applied where they stand."""


class TextTooLong(Exception):
    """A text cannot be held against a pattern; `path` says where it stands, if that is known."""

    def __init__(self, length: int, most: int, path: str = "") -> None:
        where = f"`{path}`" if path else "what is held against it"
        super().__init__(f"{where} has {length} characters, and this pattern can be held against {most}")
        self.length, self.most = length, most

    def at(self, path: str) -> "TextTooLong":
        return TextTooLong(self.length, self.most, path)


class Sized(Struct, frozen=True):
    """Something compiled, and the size that it fitted into."""

    made: Any
    size: int

    @property
    def most(self) -> int:
        """So many characters it may be held against."""
        return MAX_WORK // self.size


def smallest(make: Callable[[int], T]) -> Sized:
    """`make` is given ever larger sizes until one does; what it raises at the last one is raised."""
    for size, _ in pairwise(SIZES):
        try:
            return Sized(make(size), size)
        except ValueError:
            continue
    return Sized(make(MAX_COMPILED), MAX_COMPILED)


def patterns_of(schema: Any) -> Iterator[str]:
    """Every pattern in a schema, wherever it stands."""
    if isinstance(schema, dict):
        if isinstance(own := schema.get(PATTERN), str):
            yield own
        if isinstance(named := schema.get(PATTERNS), dict):
            yield from named
    items = (
        schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list | tuple) else ()
    )
    for item in items:
        yield from patterns_of(item)


def characters(value: Any) -> int:
    """Of all texts in a value, names included."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(name) + characters(item) for name, item in value.items())
    return sum(map(characters, value)) if isinstance(value, list | tuple) else 0


class Reach:
    """How many characters of a value the patterns of a schema look at, each pattern counted. What stands in
    `properties` and `items` is told apart; of all other ways to say it, the most that it could be is taken.
    """

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.patterns = sum(1 for _ in patterns_of(schema))

    def of(self, value: Any) -> int:
        return self._of(self.schema, value) if self.patterns else 0

    def _of(self, schema: Any, value: Any) -> int:
        if not isinstance(schema, dict):
            return 0
        found = len(value) if PATTERN in schema and isinstance(value, str) else 0
        for keyword, inner in schema.items():
            if keyword in REFERENCES:
                found += self.patterns * characters(value)
            elif keyword == "properties" and isinstance(inner, dict):
                if isinstance(value, dict):
                    found += sum(self._of(inner[name], value[name]) for name in inner.keys() & value.keys())
            elif keyword == "items" and isinstance(inner, dict):
                found += sum(self._of(inner, item) for item in value) if isinstance(value, list) else 0
            elif keyword not in PLAIN and isinstance(inner, dict | list):
                found += self._most(keyword, inner) * characters(value)
        return found

    def _most(self, keyword: str, inner: Any) -> int:
        """So many patterns could look at each text."""
        if refers(inner):
            return self.patterns
        own = len(inner) if keyword == PATTERNS else 0
        return own + sum(1 for _ in patterns_of(inner))


def refers(schema: Any) -> bool:
    """Is there a reference anywhere in it?"""
    if isinstance(schema, dict):
        return not REFERENCES.isdisjoint(schema) or any(map(refers, schema.values()))
    return isinstance(schema, list | tuple) and any(map(refers, schema))
