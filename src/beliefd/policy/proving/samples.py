"""Values that may make a condition true: for a solver that does not know what a pattern or a schema says."""

import re
from collections.abc import Iterator
from re import _constants as constants
from re import _parser as parser
from typing import Any, Final

from beliefd.kernel.substrate.predicates import Predicate
from beliefd.kernel.substrate.schemas import Schema

MAX_REPEAT: Final = 20
BY_TYPE: Final[dict[str, Any]] = {
    "string": "~other",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "null": None,
    "array": [],
    "object": {},
}


def samples(predicate: Predicate) -> Iterator[Any]:
    """A few values to try. Whether one of them does is for the evaluator to say."""
    if predicate.op == "matches":
        if (text := text_like(str(predicate.args[1]))) is not None:
            yield text
    elif predicate.op == "schema" and isinstance(predicate.args[1], Schema):
        raw = predicate.args[1].raw
        yield example(raw)
        pattern = raw.get("pattern") if isinstance(raw, dict) else None
        if isinstance(pattern, str) and (text := text_like(pattern)) is not None:
            yield text
        yield from BY_TYPE.values()
        yield from ("", 0, -1, 10**6, [1, 2, 3], {"v": 1})


def example(schema: Any) -> Any:
    """Something that probably fits a schema."""
    if not isinstance(schema, dict):
        return {}
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "object":
        inner = schema.get("properties", {})
        return {name: example(inner.get(name, {})) for name in schema.get("required", ())}
    if kind == "array":
        return [example(schema.get("items", {}))] * int(schema.get("minItems", 0))
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + ("exclusiveMinimum" in schema))
        return min(low, schema["maximum"]) if "maximum" in schema else low
    if kind == "string":
        text = text_like(schema["pattern"]) if "pattern" in schema else None
        return (
            text or BY_TYPE["string"].ljust(int(schema.get("minLength", 0)), "~")[: schema.get("maxLength")]
        )
    return BY_TYPE.get(kind, {})


def text_like(pattern: str) -> str | None:
    """A text in which a pattern is found; None where the pattern is not understood."""
    try:
        return "".join(_one(item) for item in parser.parse(pattern))
    except (re.error, ValueError, RecursionError, OverflowError):
        return None


def _one(item: tuple[Any, Any]) -> str:
    op, value = item
    if op is constants.LITERAL:
        return chr(value)
    if op is constants.NOT_LITERAL:
        return "~" if chr(value) != "~" else "x"
    if op is constants.ANY:
        return "x"
    if op is constants.AT:
        return ""
    if op is constants.IN:
        return _of_set(value)
    if op is constants.BRANCH:
        return "".join(map(_one, value[1][0]))
    if op is constants.SUBPATTERN:
        return "".join(map(_one, value[-1]))
    if op in (constants.MAX_REPEAT, constants.MIN_REPEAT):
        low, _, inner = value
        if low > MAX_REPEAT:
            raise ValueError("too long")
        return "".join(map(_one, inner)) * int(low)
    raise ValueError("not understood")


def _of_set(members: list[tuple[Any, Any]]) -> str:
    op, value = members[0]
    if op is constants.LITERAL:
        return chr(value)
    if op is constants.RANGE:
        return chr(value[0])
    if op is constants.CATEGORY:
        named = {constants.CATEGORY_DIGIT: "1", constants.CATEGORY_WORD: "a", constants.CATEGORY_SPACE: " "}
        if value in named:
            return str(named[value])
    if op is constants.NEGATE:
        return "~"
    raise ValueError("not understood")
