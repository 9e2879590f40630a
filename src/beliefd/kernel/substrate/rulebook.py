"""Rules compiled from a policy, once per hash. A memo, not state: the same hash gives the same rules."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jsonschema_rs

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.rules import Rules

_kept: dict[str, Rules] = {}
KEEP = 16


def rulebook(policy: Policy, policy_hash: str) -> Rules:
    rules = _kept.get(policy_hash)
    if rules is None:
        while len(_kept) >= KEEP:
            del _kept[next(iter(_kept))]
        rules = _kept[policy_hash] = Rules(policy.constraints, schema_check(policy))
    return rules


def schema_check(policy: Policy) -> Callable[[Any, Any], bool]:
    """Fits a value a schema: one written out in the constraint, or one that the policy knows by name."""
    known = {**{name: tool.schema for name, tool in policy.tools.items()}, **policy.schemas}

    @lru_cache(1024)
    def named(name: str) -> Any:
        return jsonschema_rs.validator_for(known[name])

    def fits(schema: Any, value: Any) -> bool:
        validator = named(schema) if isinstance(schema, str) else jsonschema_rs.validator_for(schema)
        return bool(validator.is_valid(value))

    return fits
