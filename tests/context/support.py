"""Worlds whose policy asks where values came from, and those who may tell."""

from typing import Any

import msgspec

from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Role
from beliefd.testing.world import policy
from tests.substrate.support import ALLOW_ALL, when

GATEWAY = Principal(id="gateway://front", role=Role.TOOL, owner="human://ann")
HOOK = Principal(id="hook://claude", role=Role.TOOL, owner="human://ann")
POSING = Principal(id="gateway://posing", role=Role.AGENT)
FOREIGN_SINK = {
    "v": 1,
    "effect": "deny",
    "subject": None,
    "when": when("eq", "fact.call.sink_foreign", True),
    "on_fail": "ask",
}


def origin_policy(context: dict[str, Any] | None = None, **constraints: Any) -> Policy:
    """Everything is allowed but for what constraints say of where values came from."""
    named = {f"constraint.{name}": rule for name, rule in {"all": ALLOW_ALL, **constraints}.items()}
    return policy(context=context or {}, constraints=named)


def facts_in(record: bytes) -> Any:
    """What was found out about the calls of a recorded proposal."""
    return msgspec.json.decode(record)["facts"]["calls"]
