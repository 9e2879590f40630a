"""The JSON Schema of policy files, so that editors complete and check them.

It is made of the types that policies are read with, and of the operators that conditions know. What a schema
cannot say (names of facts, references between parts), `beliefd policy check` says.
"""

import re
from collections.abc import Container
from typing import Any, Final

import msgspec

from beliefd.kernel import patterns
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import EFFECTS_BY_VERSION, MILDER, ON_FAIL, Subject
from beliefd.kernel.substrate.deriving import MAX_RULES
from beliefd.kernel.substrate.operators import COUNTED, MAX_PATH, TABLE
from beliefd.kernel.substrate.predicates import JOINING
from beliefd.kernel.substrate.rule_reading import MAX_FACTS, RULES
from beliefd.policy.key_words import KEYS

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
DEFS: Final = "#/$defs/{name}"
PATH: Final = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_PATH,
    "description": "Where to look: a key of the state or a field in it (`fact.rates.at`), or the call "
    "(`call.args.amount`).",
    "examples": ["call.args.amount", "fact.rates.at"],
}
NUMBER: Final = {"type": "number"}
TIME: Final = {"type": "string", "pattern": patterns.TIMESTAMP, "examples": ["2026-01-31T12:00:00Z"]}
BOUND: Final = {"anyOf": [NUMBER, TIME]}
LIST: Final = {"type": "array"}
TEXT: Final = {"type": "string"}
ARGUMENTS: Final[dict[str, tuple[Any, ...]]] = {
    "eq": (True,),
    "in": (LIST,),
    "exists": (),
    "missing": (),
    "schema": ({"type": ["string", "object"]},),
    **dict.fromkeys(("lt", "le", "gt", "ge"), (BOUND,)),
    "between": (BOUND, BOUND),
    "age_over": ({"type": "number", "minimum": 0},),
    **dict.fromkeys(("starts_with", "ends_with"), (TEXT,)),
    "matches": ({"type": "string", "format": "regex"},),
    **dict.fromkeys(("subset", "intersects"), (LIST,)),
    "count": ({"enum": list(COUNTED)}, {"type": "integer", "minimum": 0}),
}
"""By operator, what follows its path."""
JOINED: Final = {
    "all": "True if all of these are true; of none, it is true.",
    "any": "True if one of these is true; of none, it is false.",
    "not": "True if this is not.",
}
EFFECTS: Final = {
    "allow": "Lets through what it names, if its condition holds, and stands in the way if not.",
    "deny": "Stands in the way of what it names, if its condition holds or there is none.",
    "ask": "A person is asked first, if its condition holds or there is none.",
    "defer": "It waits, if its condition holds or there is none.",
    "degrade": "It is denied and the session goes one mode down, if its condition holds or there is none.",
}
WHEN: Final = "Under which condition; without one, always."
OF_RULE: Final = "condition_of_rule"
TIMELESS: Final = [name for name, one in TABLE.items() if one.reads]
"""Rules read the state, and neither a call nor the time."""
ASK: Final = {
    "v": 2,
    "effect": "ask",
    "subject": {"tool_id": "pay"},
    "when": {"op": "gt", "args": ["call.args.amount", 100]},
    "reason": "payments over 100 are approved by a person",
}


def policy_schema() -> dict[str, Any]:
    """The schema, with what every part is for."""
    _, defined = msgspec.json.schema_components([Policy], ref_template=DEFS)
    for name, part in defined.items():
        for key, words in KEYS.get(name, {}).items():
            part["properties"][key]["description"] = words
    policy = defined.pop("Policy")
    policy["properties"] |= {"constraints": _constraints(), "rules": _rules()}
    versions = {f"constraint_v{version}": _constraint(version) for version in EFFECTS_BY_VERSION}
    conditions = {f"condition_v{version}": _condition(version) for version in EFFECTS_BY_VERSION}
    conditions[OF_RULE] = _condition(max(EFFECTS_BY_VERSION), OF_RULE, TIMELESS)
    return {
        "$schema": DIALECT,
        "title": "Policy of beliefd",
        **policy,
        "additionalProperties": False,
        "$defs": {name: defined[name] for name in sorted(defined)} | versions | conditions,
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": DEFS.format(name=name)}


def _constraints() -> dict[str, Any]:
    """By version: an editor that finds no fitting one of several says nothing that helps."""
    newest = max(EFFECTS_BY_VERSION)
    branch: dict[str, Any] = _ref(f"constraint_v{newest}")
    for version in range(newest - 1, 0, -1):
        said = {"properties": {"v": {"const": version}}, "required": ["v"]}
        branch = {"if": said, "then": _ref(f"constraint_v{version}"), "else": branch}
    return {
        "type": "object",
        "title": "Constraints",
        "description": "Rules about calls and changes, by name. What nothing allows is denied; of several "
        "that stand in the way, the strictest decides.",
        "default": {},
        "propertyNames": {"pattern": r"^constraint\..+"},
        "additionalProperties": branch,
        "examples": [{"constraint.large": ASK}],
    }


def _rules() -> dict[str, Any]:
    return {
        "type": "object",
        "title": "Rules",
        "description": "Facts that follow from others, by name. Nobody writes them by hand, and they are "
        "gone with what they follow from.",
        "propertyNames": {"pattern": "^" + re.escape(RULES) + ".+"},
        "maxProperties": MAX_RULES,
        "additionalProperties": {
            "type": "object",
            "title": "Rule",
            "required": ["v", "derive"],
            "additionalProperties": False,
            "properties": {
                "v": {"const": 1, "description": "The version of the language that it is written in."},
                "when": {"anyOf": [{"type": "null"}, _ref(OF_RULE)], "description": WHEN},
                "derive": {
                    "type": "object",
                    "description": "Facts by key. In a value, `{from: PATH}` stands for what is there.",
                    "minProperties": 1,
                    "maxProperties": MAX_FACTS,
                    "propertyNames": {"pattern": r"^fact\..+"},
                    "additionalProperties": {
                        "type": "object",
                        "required": ["v"],
                        "properties": {"v": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    }


def _constraint(version: int) -> dict[str, Any]:
    effects = EFFECTS_BY_VERSION[version]
    found: dict[str, Any] = {
        "type": "object",
        "title": f"Constraint, version {version}",
        "description": "What it does (`effect`), to which calls (`subject`), and under which condition.",
        "required": ["v", "effect"],
        "additionalProperties": False,
        "properties": {
            "v": {"const": version, "description": "The version of the language that it is written in."},
            "effect": {
                "oneOf": [{"const": one, "description": EFFECTS[one]} for one in effects],
                "description": "What it does where its condition holds.",
            },
            "subject": _subject(),
            "when": {"anyOf": [{"type": "null"}, _ref(f"condition_v{version}")], "description": WHEN},
            "on_fail": {
                "enum": list(ON_FAIL),
                "default": "block",
                "description": "What follows where it stands in the way.",
            },
            "reason": {"type": "string", "description": "What who is refused is told."},
        },
        "examples": [ASK] if version > 1 else [{"v": 1, "effect": "allow", "subject": None}],
    }
    if milder := [one for one in effects if one in MILDER]:
        said = {"properties": {"effect": {"enum": milder}}, "required": ["effect"]}
        found |= {"if": said, "then": {"properties": {"on_fail": False}}}
    return found


def _subject() -> dict[str, Any]:
    named = [
        {
            "type": "object",
            "required": [name],
            "additionalProperties": False,
            "properties": {name: {"type": "string", "minLength": 1}},
        }
        for name in Subject.__struct_fields__
    ]
    return {
        "anyOf": [{"type": "null"}, *named],
        "description": "One tool, all tools that need a capability, or (null) every call and change. Writing "
        "a namespace of the state takes the capability `write:` and its name.",
        "examples": [{"tool_id": "pay"}, {"capability": "write:fact"}, None],
    }


def _condition(version: int, name: str = "", left_out: Container[str] = ()) -> dict[str, Any]:
    known = [op for op, one in TABLE.items() if one.version <= version and op not in left_out]
    inner = _ref(name or f"condition_v{version}")
    return {
        "type": "object",
        "title": "Condition of a rule" if name else f"Condition, version {version}",
        "required": ["op", "args"],
        "additionalProperties": False,
        "properties": {
            "op": {"enum": [*JOINING, *known], "description": "What is asked."},
            "args": {"type": "array", "description": "A path and what it is held against, or conditions."},
        },
        "allOf": [
            *(_when(op, _joined(op, inner)) for op in JOINING),
            *(_when(op, _arguments(op)) for op in known),
        ],
    }


def _when(op: str, args: dict[str, Any]) -> dict[str, Any]:
    said = {"properties": {"op": {"const": op}}, "required": ["op"]}
    return {"if": said, "then": {"properties": {"args": args}}}


def _joined(op: str, inner: dict[str, str]) -> dict[str, Any]:
    one = {"minItems": 1, "maxItems": 1} if op == "not" else {}
    return {"type": "array", "items": inner, "description": JOINED[op], **one}


def _arguments(op: str) -> dict[str, Any]:
    rest = ARGUMENTS[op]
    return {
        "type": "array",
        "description": f"{op} takes {TABLE[op].takes}.",
        "prefixItems": [PATH, *rest],
        "minItems": 1 + len(rest),
        "maxItems": 1 + len(rest),
    }
