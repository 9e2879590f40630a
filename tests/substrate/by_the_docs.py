"""Constraints and rules as docs/explanation/substrate.md tells them, by nothing of the package: plain, slow.

It says what becomes of a tool call, and knows no index, no parsing ahead and no order of evaluation.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

NOTHING = object()
OF_VERSION_1 = ("all", "any", "not", "eq", "in", "exists", "missing", "schema")
OF_VERSION_2 = (
    *("lt", "le", "gt", "ge", "between", "age_over", "starts_with", "ends_with", "matches"),
    *("subset", "intersects", "count"),
)
STRICTEST_LAST = ("defer", "ask", "degrade", "block")
Failure = tuple[str, str, str]
"""What follows, the name of the constraint, and the code."""


class Malformed(Exception):
    pass


def heads(path: str) -> Iterator[tuple[str, str | None]]:
    """Every key that a path may begin with, the longest first, and what is left of the path."""
    names = path.split(".")
    for end in range(len(names), 0, -1):
        yield ".".join(names[:end]), ".".join(names[end:]) if end < len(names) else None


def read(where: Any, path: str) -> Any:
    """The longest key that exists is used, and the rest is the field."""
    for key, rest in heads(path):
        if isinstance(where, dict) and key in where:
            return where[key] if rest is None else read(where[key], rest)
    return NOTHING


def readings(where: Any, path: str) -> Iterator[Any]:
    """What every way to read a path leads to."""
    for key, rest in heads(path):
        if isinstance(where, dict) and key in where:
            if rest is None:
                yield where[key]
            else:
                yield from readings(where[key], rest)


def is_twofold(where: Any, path: str) -> bool:
    """Can it also be read in another way that leads to something?"""
    found = len(list(readings(where, path)))
    return found > 1 or (found == 1 and read(where, path) is NOTHING)


def alike(left: Any, right: Any) -> bool:
    """The same JSON value: `true` is not `1`, `1` is `1.0`."""
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, dict) and isinstance(right, dict):
        return set(left) == set(right) and all(alike(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(alike(*pair) for pair in zip(left, right, strict=True))
    if number(left) is not None and number(right) is not None:
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def moment(value: Any) -> datetime | None:
    """A text as in ISO 8601, with `Z` or an offset."""
    if not isinstance(value, str) or not re.search(r"\dT\d.*(Z|[+-]\d\d:\d\d)$", value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def compares(op: str, value: Any, bound: Any) -> bool:
    """Numbers with numbers, and times with times."""
    for kind in (number, moment):
        left: Any = kind(value)
        right: Any = kind(bound)
        if left is not None and right is not None:
            return bool({"lt": left < right, "le": left <= right, "gt": left > right, "ge": left >= right,
                         "eq": left == right}[op])  # fmt: skip
    return False


def fits(value: Any, schema: Any) -> bool:
    """The few schemas that are tried here."""
    types = {"integer": int, "object": dict, "array": list}
    if "type" in schema and (not isinstance(value, types[schema["type"]]) or isinstance(value, bool)):
        return schema["type"] == "integer" and isinstance(value, float) and value % 1 == 0
    return not isinstance(value, dict) or all(name in value for name in schema.get("required", ()))


def paths_of(when: dict[str, Any]) -> set[str]:
    if when["op"] in ("all", "any", "not"):
        return set[str]().union(*map(paths_of, when["args"]))
    return {when["args"][0]}


def check(when: Any, version: int) -> None:
    """An unknown operator or a wrong number of arguments makes a constraint malformed."""
    if not isinstance(when, dict) or set(when) != {"op", "args"}:
        raise Malformed
    op, args = when["op"], when["args"]
    if op not in (OF_VERSION_1 if version == 1 else (*OF_VERSION_1, *OF_VERSION_2)):
        raise Malformed
    if op in ("all", "any", "not"):
        if op == "not" and len(args) != 1:
            raise Malformed
        for one in args:
            check(one, version)
    elif len(args) != {"exists": 1, "missing": 1, "between": 3, "count": 3}.get(op, 2):
        raise Malformed


def holds(when: dict[str, Any], known: dict[str, Any], schemas: dict[str, Any]) -> bool:
    op, args = when["op"], when["args"]
    if op in ("all", "any"):
        every = [holds(one, known, schemas) for one in args]
        return all(every) if op == "all" else any(every)
    if op == "not":
        return not holds(args[0], known, schemas)
    value = read(known, args[0])
    if op in ("exists", "missing"):
        return bool((value is NOTHING) == (op == "missing"))
    if op == "schema":
        schema = schemas[args[1]] if isinstance(args[1], str) else args[1]
        return value is not NOTHING and fits(value, schema)
    if op == "age_over":
        then, now = moment(value), moment(read(known, "call.now"))
        return then is not None and now is not None and (now - then).total_seconds() > args[1]
    return value is not NOTHING and says(op, value, args[1:])


def says(op: str, value: Any, args: list[Any]) -> bool:
    """An operator on a value that is there, and on what the constraint gives."""
    text, items = isinstance(value, str), value if isinstance(value, list) else []
    given = args[0] if op in ("subset", "intersects") else []
    inside = [any(alike(one, other) for other in given) for one in items]
    found: dict[str, Callable[[], Any]] = {
        "eq": lambda: alike(value, args[0]),
        "in": lambda: any(alike(value, one) for one in args[0]),
        "between": lambda: compares("ge", value, args[0]) and compares("le", value, args[1]),
        "starts_with": lambda: text and value.startswith(args[0]),
        "ends_with": lambda: text and value.endswith(args[0]),
        "matches": lambda: text and re.search(args[0].replace("$", r"\Z"), value) is not None,
        "subset": lambda: isinstance(value, list) and all(inside),
        "intersects": lambda: isinstance(value, list) and any(inside),
        "count": lambda: isinstance(value, list | dict) and compares(args[0], len(value), args[1]),
    }
    return bool(found[op]() if op in found else compares(op, value, args[0]))


def derived(rules: dict[str, Any], state: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """What rules derive that rest on those with smaller names alone, one after the other."""
    known = dict(state)
    for name in sorted(rules):
        rule = rules[name]
        fires = "when" not in rule or holds(rule["when"], known, schemas)
        for key, template in rule["derive"].items():
            value = filled(template, known)
            if fires and value is not NOTHING:
                known[key] = value
    return known


def filled(template: Any, known: dict[str, Any]) -> Any:
    """An object that holds `from` and nothing else stands for what that path holds."""
    if isinstance(template, dict) and set(template) == {"from"}:
        return read(known, template["from"])
    if isinstance(template, dict):
        found = {name: filled(one, known) for name, one in template.items()}
        return NOTHING if any(one is NOTHING for one in found.values()) else found
    return template


def failures_of(
    name: str, raw: Any, known: dict[str, Any], policy: dict[str, Any]
) -> tuple[bool, list[Failure]]:
    """Whether it is an allow, and how it stands in the way of a call that it is about."""
    effect, when = raw.get("effect"), raw.get("when")
    effects = ("allow", "deny") if raw["v"] == 1 else ("allow", "deny", "ask", "defer", "degrade")
    try:
        own = effect in ("ask", "defer", "degrade")
        if effect not in effects or (own and "on_fail" in raw):
            raise Malformed
        if when is not None:
            check(when, raw["v"])
    except Malformed:
        return False, [("block", name, "MALFORMED_CONSTRAINT")]
    found: list[Failure] = []
    true = when is None or holds(when, known, policy["schemas"])
    if effect == "allow" and not true:
        found.append((raw.get("on_fail", "block"), name, "NOT_ALLOWED"))
    if effect != "allow" and true:
        found.append((effect if own else raw.get("on_fail", "block"), name, "DENIED"))
    for path in sorted(paths_of(when)) if when is not None else ():
        if is_twofold(known, path):
            code = "AMBIGUOUS_ARGUMENT" if path.startswith("call.args.") else "AMBIGUOUS_STATE"
            found.append(("block", name, code))
            break
    return effect == "allow", found


def decide(policy: dict[str, Any], state: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    """The verdict on a call, what follows, its code, and what stands in the way.

    `definition` is what a tool says of itself that the policy does not declare.
    """
    known = {**derived(policy["rules"], state, policy["schemas"]), "call": {"v": 1, **call}}
    allowable, failures = False, list[Failure]()
    for name, raw in policy["constraints"].items():
        subject = raw["subject"] or {}
        if "tool_id" in subject and subject["tool_id"] != call["tool_id"]:
            continue
        declared = policy["tools"].get(call["tool_id"], call.get("definition", {}))
        needed = declared.get("capabilities", ())
        if "capability" in subject and subject["capability"] not in needed:
            continue
        allows, found = failures_of(name, raw, known, policy)
        allowable = allowable or allows
        failures += found
    if not allowable:
        failures.append(("block", "~", "NO_ALLOW"))  # after those that block
    if not failures:
        return {"verdict": "allow", "on_fail": None, "reason_code": "ALLOWED", "against": set()}
    failures.sort(key=lambda one: (-STRICTEST_LAST.index(one[0]), one[1]))
    follows, _, code = failures[0]
    return {
        "verdict": "defer" if follows in ("ask", "defer") else "deny",
        "on_fail": follows,
        "reason_code": {"ask": "ASK", "defer": "DEFER"}.get(follows, code),
        "against": {(name, code) for _, name, code in failures if name != "~"},
    }
