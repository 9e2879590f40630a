"""What a schema takes to judge by is bounded, whoever wrote it and however deep a value is nested."""

from typing import Any

import pytest

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.schemas import BadSchema, Schema
from beliefd.policy.compiling import problems
from beliefd.testing.world import policy

STEPS = 60
"""Twice as much with every step is more than anybody waits for."""
TWICE = {"allOf", "anyOf", "oneOf"}


def doubling(step: Any, to: str = "#/$defs/d{}", key: str = "$defs", **more: Any) -> dict[str, Any]:
    """A schema that leads to the next one as `step` says, and so on."""
    steps = {f"d{at}": step(to.format(at + 1)) for at in range(STEPS)}
    return {key: {**steps, f"d{STEPS}": {"type": "object"}}, "$ref": to.format(0), **more}


def named(reference: str) -> dict[str, Any]:
    """A schema that has an address of its own, below that of the whole."""
    own = f"d{int(reference.removeprefix('d')) - 1}"
    return {"$id": own, "anyOf": [{"$ref": reference}] * 2}


NAMED = doubling(named, "d{}", **{"$id": "http://x/"})
NAMED["$defs"][f"d{STEPS}"]["$id"] = f"d{STEPS}"
UNBOUNDED: dict[str, dict[str, Any]] = {
    **{word: doubling(lambda to, word=word: {word: [{"$ref": to}] * 2}) for word in sorted(TWICE)},
    "conditions": doubling(lambda to: {"if": {"$ref": to}, "then": {"$ref": to}}),
    "of one field": doubling(lambda to: {"anyOf": [{"properties": {"c": {"$ref": to}}}] * 2}),
    "of one item": doubling(lambda to: {"items": {"$ref": to}, "contains": {"$ref": to}}),
    "by patterns": doubling(lambda to: {"patternProperties": {"a": {"$ref": to}, "b": {"$ref": to}}}),
    "where no schemas belong": doubling(
        lambda to: {"not": {"$ref": to}, "allOf": [{"$ref": to}]}, "#/x/d{}", "x"
    ),
    "an old draft": doubling(
        lambda to: {"allOf": [{"$ref": to}] * 2},
        "#/definitions/d{}",
        "definitions",
        **{"$schema": "http://json-schema.org/draft-04/schema#"},
    ),
    "by addresses": NAMED,
    "in a row": {
        "$defs": {f"d{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(999)} | {"d999": {}},
        "$ref": "#/$defs/d0",
    },
}
KIND = {"c": {"$ref": "#/$defs/n"}}
TREE = {
    "$defs": {"n": {"oneOf": [{"properties": {**KIND, "k": {"const": kind}}} for kind in ("a", "b")]}},
    "$ref": "#/$defs/n",
}


def nested(levels: int, innermost: Any) -> Any:
    value = innermost
    for _ in range(levels):
        value = {"c": value}
    return value


@pytest.mark.parametrize("schema", UNBOUNDED.values(), ids=UNBOUNDED)
def test_a_schema_that_doubles_with_every_reference_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(BadSchema, match="more than 4096 schemas for one part of a value"):
        Schema(schema)
    # Neither a policy that names it nor a tool in one comes into force.
    named_by: list[Policy] = [policy(schemas={"s": schema}), policy(tools={"pay": {"schema": schema}})]
    assert all(list(problems(one)) for one in named_by)


def test_references_that_lead_to_few_schemas_are_taken() -> None:
    shared = {
        "$defs": {"text": {"type": "string"}},
        "properties": {n: {"$ref": "#/$defs/text"} for n in map(str, range(9_999))},
    }
    assert Schema(shared).fits({"7": "x"})
    assert not Schema(shared).fits({"7": 7})
    assert Schema({"$ref": "https://json-schema.org/draft/2020-12/schema"}).fits({"type": "object"})
    assert Schema({"$ref": "#"}).fits(1)


def test_what_is_nested_deep_is_judged_by_a_schema_of_alternatives_that_hold_themselves() -> None:
    schema = Schema(TREE)
    # Kinds may be left out, and then both fit: no alternative is passed over without being looked into.
    (told,) = schema.errors(nested(18, {}))
    assert told.startswith("`$`: it does not fit; where is not told")
    assert schema.errors(nested(1, {}))[0].startswith("`$`: ")
    assert "where is not told" not in schema.errors(nested(1, {}))[0]
    fitting: Any = {"k": "a"}
    for _ in range(50):
        fitting = {"c": fitting, "k": "b"}
    assert schema.errors(fitting) == ()
    assert schema.fits(fitting)
