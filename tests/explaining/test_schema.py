"""The JSON Schema of policy files: what we ship fits it, and typical mistakes do not."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import given, settings

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import read_constraint
from beliefd.kernel.substrate.operators import TABLE
from beliefd.policy.key_words import KEYS
from beliefd.policy.presets import PRESETS, preset_text
from beliefd.policy.schema import ARGUMENTS, policy_schema
from tests.substrate import strategies as some

ROOT = Path(__file__).parents[2]
SCHEMA = policy_schema()
FITS = jsonschema_rs.validator_for(SCHEMA).is_valid
IN_DOCS = re.compile(r"^```yaml policy[^\n]*\n(.*?)^```", re.M | re.S)
SHOWN = [
    pytest.param(text, id=f"{page.stem}-{number}")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for number, text in enumerate(IN_DOCS.findall(page.read_text()))
]
LARGE = {"op": "gt", "args": ["call.args.amount", 100]}


@pytest.mark.parametrize("name", PRESETS)
def test_what_we_ship_fits(name: str) -> None:
    assert FITS(yaml.safe_load(preset_text(name)))


@pytest.mark.parametrize("text", SHOWN)
def test_what_the_docs_show_fits(text: str) -> None:
    assert FITS(yaml.safe_load(text))


def test_the_docs_show_some() -> None:
    assert len(SHOWN) > 2


def constraint(**changed: Any) -> dict[str, Any]:
    given = {"v": 2, "effect": "ask", "subject": {"tool_id": "pay"}, "when": LARGE, **changed}
    return {"constraints": {"constraint.large": {name: one for name, one in given.items() if one != ...}}}


def test_the_constraint_that_mistakes_are_made_in_is_right() -> None:
    assert FITS(constraint())


@pytest.mark.parametrize(
    "mistaken",
    [
        {"constraint": {}},
        {"evidence": {"min_confidence": 2}},
        {"evidence": {"minimum": 0.5}},
        {"tools": {"pay": {"tier": "delete"}}},
        {"constraints": {"large": constraint()["constraints"]["constraint.large"]}},
        constraint(v=...),
        constraint(v=3),
        constraint(v=1),
        constraint(effect="forbid"),
        constraint(effect=...),
        constraint(on_fail="ask"),
        constraint(subject="pay"),
        constraint(subject={"tool": "pay"}),
        constraint(subject={"tool_id": "pay", "capability": "money"}),
        constraint(when={"op": ">", "args": ["call.args.amount", 100]}),
        constraint(when={"op": "gt", "args": ["call.args.amount"]}),
        constraint(when={"op": "gt", "args": ["call.args.amount", "100"]}),
        constraint(when={"op": "gt", "args": "call.args.amount"}),
        constraint(when={"op": "not", "args": [LARGE, LARGE]}),
        constraint(when={"op": "all", "args": [{"op": "in", "args": ["fact.x", "a"]}]}),
        constraint(when={"gt": ["call.args.amount", 100]}),
        constraint(reasons="too much"),
    ],
)
def test_typical_mistakes_do_not_fit(mistaken: Any) -> None:
    assert not FITS(mistaken)


def test_every_operator_has_its_arguments_spelled_out() -> None:
    assert ARGUMENTS.keys() == TABLE.keys()


@settings(max_examples=300)
@given(raw=some.constraints())
def test_it_takes_what_the_reader_takes(raw: Any) -> None:
    """INVARIANT: an editor complains of nothing that a server would adopt."""
    read = read_constraint("constraint.x", raw, some.SCHEMAS)
    if read.malformed is None:
        assert FITS({"constraints": {"constraint.x": raw}})


def test_every_part_of_a_policy_is_described() -> None:
    assert SCHEMA["properties"].keys() == {field.removesuffix("_") for field in Policy.__struct_fields__}
    structs = (one for one in SCHEMA["$defs"].values() if one.get("type") == "object")
    assert all(one.get("description") or one.get("title") for one in structs)
    assert SCHEMA["properties"]["constraints"]["description"]
    json.dumps(SCHEMA)


def test_a_rule_reads_no_time() -> None:
    aged = {"op": "age_over", "args": ["fact.a.at", 60]}
    for when in (aged, {"op": "not", "args": [aged]}):
        assert not FITS({"rules": {"rule.r": {"v": 1, "when": when, "derive": {"fact.b": {"v": 1}}}}})
        assert FITS(constraint(when=when))


def described(key: dict[str, Any]) -> bool:
    """As editors see it: of a key that refers to a part, or to one of several, the words of that part."""
    if "$ref" in key:
        return "description" in key or described(SCHEMA["$defs"][key["$ref"].rpartition("/")[2]])
    parts = [one for one in (*key.get("anyOf", ()), *key.get("oneOf", ())) if "$ref" in one]
    return "description" in key or any(map(described, parts))


def test_every_key_says_what_it_is_for() -> None:
    parts = {"Policy": SCHEMA, **SCHEMA["$defs"]}
    silent = [
        f"{name}.{key}"
        for name, part in parts.items()
        for key, one in part.get("properties", {}).items()
        if not described(one)
    ]
    assert silent == []
    for name, words in KEYS.items():
        assert words.keys() <= parts[name]["properties"].keys(), name
        assert all(text[0].isupper() and text.endswith(".") for text in words.values()), name
