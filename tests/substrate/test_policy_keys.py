"""`policy.*` laid under a state: the compiled constraints and invariants say what the plain reading says."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.adopted import Adopted
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import Action
from beliefd.kernel.substrate.policy_keys import NAMES, POLICY, policy_keys
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.ledger.chain import policy_hash
from beliefd.testing.world import policy
from tests.substrate import strategies as some
from tests.substrate.test_rules import broken, compiled, naive, told

INSTEAD = {
    "fact.b": "policy.mode",
    "fact.b.value": "policy.version",
    "goal.z": "policy.adopted_by",
    "goal.z.n": "policy",
}
modes = st.sampled_from(["normal", "eco", "a", "1"])
seen = st.builds(
    lambda mode, by: policy_keys(Policy(), "h", mode, Adopted(by=by)), modes, st.sampled_from([None, "a"])
)


def reading_policy(raw: dict[str, Any]) -> dict[str, Any]:
    """The same constraints, where some paths are of the policy."""
    text = json.dumps(raw)
    for path, other in INSTEAD.items():
        text = text.replace(json.dumps(path), json.dumps(other))
    read: dict[str, Any] = json.loads(text)
    return read


@settings(max_examples=300, deadline=None)
@given(
    some.policies.map(reading_policy),
    some.states,
    st.lists(st.tuples(some.patches, seen), min_size=1, max_size=5),
    some.actions,
)
def test_compiled_constraints_read_the_policy_as_the_plain_reading_does(
    raw: dict[str, Any], state: dict[str, Any], steps: list[Any], action: Action
) -> None:
    rules, read = compiled(raw)
    sparse, plain = SymbolicState(state), dict(state)
    for (sets, removes), view in steps:
        sparse = sparse.patched(sets, removes)
        plain = {key: value for key, value in plain.items() if key not in removes} | sets
        laid, whole = sparse.over(rules, POLICY, view), {**plain, POLICY: view}
        assert told(laid.truths(rules).judge(laid, action)) == told(naive(read, rules, whole, action))
        assert sorted(one.constraint.key for one in laid.truths(rules).broken) == broken(read, rules, whole)
        # A change that is tried out on it is judged by the policy, too.
        staged, tried = laid.patched({"goal.x": {"v": 2}}), {**whole, "goal.x": {"v": 2}}
        assert sorted(one.constraint.key for one in staged.truths(rules).broken) == broken(read, rules, tried)
        assert POLICY not in sparse


def test_what_nobody_adopted_was_adopted_by_nobody() -> None:
    known = policy_keys(Policy(), "h", "normal", Adopted())
    assert known == {"hash": "h", "version": 1, "mode": "normal"}
    named = policy_keys(policy(version="2026-11"), "h", "normal", Adopted())
    assert named == {**known, "version": "2026-11"}
    assert policy_hash(policy(version="a")) != policy_hash(policy(version="b")) != policy_hash(Policy())
    assert set(NAMES) == {*known, "adopted_by", "adopted_at"}
