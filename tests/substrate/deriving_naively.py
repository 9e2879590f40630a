"""Rules read plainly: stratum by stratum, all of it again until nothing more follows. The oracle of tests."""

from typing import Any

from beliefd.kernel.substrate.operators import SchemaCheck
from beliefd.kernel.substrate.paths import ABSENT, keys_of, look_up
from beliefd.kernel.substrate.predicates import holds, parse

OPEN = frozenset({"eq", "in", "exists", "schema"})


def naive(rules: dict[str, Any], base: dict[str, Any], fits: SchemaCheck) -> dict[str, Any]:
    """All facts that follow from `base`."""
    state: dict[str, Any] = dict(base)
    level = _levels(rules)
    for stratum in range(max(level.values(), default=0) + 1):
        grew = True
        while grew:
            grew = False
            for raw in rules.values():
                for key, template in raw["derive"].items():
                    if level[key] != stratum or key in state:
                        continue
                    if "when" in raw and not holds(parse(raw["when"]), state, fits):
                        continue
                    value = _filled(template, state)
                    if value is not ABSENT:
                        state[key], grew = value, True
    return {key: value for key, value in state.items() if key not in base}


def _levels(rules: dict[str, Any]) -> dict[str, int]:
    """By relaxation: a fact is above all that it reads in a way that more facts could make false."""
    level = {key: 0 for raw in rules.values() for key in raw["derive"]}
    for _ in range(len(level) + 1):
        for raw in rules.values():
            for key, template in raw["derive"].items():
                ways = [(path, True) for path in _copied(template)]
                ways += _ways(raw["when"], False) if "when" in raw else []
                for path, strict in ways:
                    for read in (one for one in keys_of(path) if one in level):
                        level[key] = max(level[key], level[read] + strict)
    assert max(level.values(), default=0) <= len(level), "not stratified"
    return level


def _ways(raw: dict[str, Any], negated: bool) -> list[tuple[str, bool]]:
    if raw["op"] in ("all", "any", "not"):
        return [way for one in raw["args"] for way in _ways(one, negated or raw["op"] == "not")]
    return [(raw["args"][0], negated or raw["op"] not in OPEN)]


def _copied(template: Any) -> list[str]:
    if isinstance(template, dict):
        if template.keys() == {"from"}:
            return [template["from"]]
        return [path for one in template.values() for path in _copied(one)]
    return [path for one in template for path in _copied(one)] if isinstance(template, list) else []


def _filled(template: Any, state: dict[str, Any]) -> Any:
    if isinstance(template, dict) and template.keys() == {"from"}:
        return look_up(state, template["from"])
    if isinstance(template, dict):
        filled = {name: _filled(one, state) for name, one in template.items()}
        return ABSENT if ABSENT in filled.values() else filled
    if isinstance(template, list):
        items = [_filled(one, state) for one in template]
        return ABSENT if ABSENT in items else items
    return template
