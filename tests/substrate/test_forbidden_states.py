"""Invariants that no state keeps are refused by their names before they count."""

from typing import Any

import pytest

from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.policy import Policy
from beliefd.policy.compiling import compiled, problems
from beliefd.testing.world import policy


def invariants(*conditions: tuple[Any, ...], **more: Any) -> Policy:
    """Denies, each with its condition; `allow` before an op makes one that must hold."""
    named = {}
    for number, (op, *args) in enumerate(conditions):
        effect, _, last = op.rpartition(" ")
        named[f"constraint.invariant.{number}"] = {
            **{"v": 2, "effect": effect or "deny", "subject": None, **more},
            "when": {"op": last, "args": args},
        }
    return policy(constraints=named)


@pytest.mark.parametrize(
    "given",
    [
        invariants(("exists", "fact.a"), ("missing", "fact.a")),
        invariants(("allow eq", "fact.a.n", 1), ("allow eq", "fact.a.n", 2)),
        invariants(("allow gt", "fact.a.n", 5), ("allow lt", "fact.a.n", 5)),
        invariants(("allow in", "fact.a.n", [1, 2]), ("eq", "fact.a.n", 1), ("eq", "fact.a.n", 2)),
    ],
)
def test_invariants_that_together_forbid_every_state_are_refused_by_their_names(given: Policy) -> None:
    (problem,) = problems(given)
    assert problem.path == "$.constraints.constraint.invariant.0"
    assert all(f"`{key}`" in problem.message for key in given.constraints)
    with pytest.raises(BeliefdError, match="nothing could be written"):
        compiled(given)


@pytest.mark.parametrize(
    "given",
    [
        invariants(("exists", "fact.a"), ("missing", "fact.b")),
        invariants(("allow ge", "fact.a.n", 5), ("allow le", "fact.a.n", 5)),
        invariants(("exists", "fact.a"), ("missing", "fact.a"), effect="ask"),
        invariants(("matches", "fact.a.n", "a"), ("not", {"op": "matches", "args": ["fact.a.n", "b"]})),
    ],
)
def test_invariants_that_some_state_may_keep_are_taken(given: Policy) -> None:
    assert list(problems(given)) == []
