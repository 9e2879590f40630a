"""Orders, of which rules derive whether one is large: what tests of derived facts are about."""

from typing import Any

from beliefd.kernel.policy import Policy
from beliefd.testing.world import policy
from tests.substrate.support import (
    ALLOW_ALL,
    ToolWorld,
    delta,
    deny,
    when,
)

LARGE = {
    "v": 1,
    "when": when("eq", "fact.order.size", "large"),
    "derive": {"fact.large": {"v": 1, "order": {"from": "fact.order.id"}}},
}
CALM = {"v": 1, "when": when("missing", "fact.large"), "derive": {"fact.calm": {"v": 1}}}
CONSTRAINTS: dict[str, Any] = {
    "constraint.all": ALLOW_ALL,
    "constraint.send": deny("email.send", when=when("exists", "fact.large"), reason="a large order waits"),
}
RULES = {"rule.large": LARGE, "rule.calm": CALM}


def ruled(rules: dict[str, Any] | None = None, **constraints: Any) -> Policy:
    """A policy of rules; `constraint.` is put before every name."""
    named = {f"constraint.{name}": value for name, value in constraints.items()}
    return policy(constraints={**CONSTRAINTS, **named}, rules=RULES if rules is None else rules)


def order(size: str = "large", **more: Any) -> dict[str, Any]:
    return delta(fact__order={"v": 1, "id": 7, "size": size, **more})


def derived(house: ToolWorld, session: str) -> dict[str, Any]:
    held = house.state(session).substrate
    return {key: held.symbolic_state[key] for key in held.derived}
