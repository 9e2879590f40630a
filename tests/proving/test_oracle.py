"""Nothing is proved that a call refutes: solver, evaluator and Cedar say the same of random policies."""

from typing import Any

import cedarpy
import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import Action
from beliefd.kernel.substrate.explaining import Explanation, situated
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.values import Role, Tier
from beliefd.ledger.chain import policy_hash
from beliefd.policy.proving.cedar import Beyond, entities, exported, request
from beliefd.policy.proving.prover import Prover
from beliefd.policy.proving.witnesses import Judge
from tests.substrate import strategies as some

TIERS = st.sampled_from([tier.name for tier in Tier])
SCHEMAS = st.sampled_from(
    [
        {},
        {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}},
        {"properties": {"n": {"enum": ["a", 1]}}, "required": ["n"], "additionalProperties": False},
        {"properties": {"n": {"type": "string", "minLength": 2}}},
    ]
)
TOOLS = st.dictionaries(
    st.sampled_from(some.TOOLS),
    st.builds(
        lambda capabilities, mutates, tier, schema: {
            "capabilities": capabilities,
            "mutates": mutates,
            "tier": tier,
            "schema": schema,
        },
        st.lists(st.sampled_from(some.CAPABILITIES), max_size=2),
        st.booleans(),
        st.sampled_from(["READ_ONLY", "MODIFY", "DELETE"]),
        SCHEMAS,
    ),
)
MORE = st.fixed_dictionaries(
    {"approvals": st.sampled_from([{}, {"tools_without_person": ["t.one"]}])},
    optional={
        "tiers": st.sampled_from([{"tools": {"t.*": "MODIFY"}}, {"tools": {"t.two": "DELETE"}}]),
        "modes": st.sampled_from([{"rules": {"eco": {"mutating": False}}}]),
    },
)
POLICIES = st.builds(
    lambda constraints, tools, more: msgspec.convert(
        {"constraints": constraints, "tools": tools, "schemas": some.SCHEMAS, **more}, Policy
    ),
    some.policies,
    TOOLS,
    MORE,
)
CALLS = st.builds(
    Question,
    tool_id=st.sampled_from([*some.TOOLS, "t.three", "other"]),
    args=st.dictionaries(st.sampled_from(["n", "b"]), some.small, max_size=2),
    tier=TIERS,
    role=st.sampled_from(list(Role)),
    mode=st.sampled_from(["normal", "eco", "offline-safe"]),
    now=st.just("2026-01-01T00:00:40Z"),
)
# Shrinking two policies takes minutes, and the examples are small.
SETTINGS = settings(max_examples=150, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
SITUATIONS = st.lists(st.tuples(CALLS, some.states), min_size=1, max_size=12)


def said(policy: Policy, call: Question, state: dict[str, Any]) -> Explanation:
    return Judge(policy).explained(call, state)


@SETTINGS
@given(old=POLICIES, new=POLICIES, situations=SITUATIONS)
def test_an_update_that_is_proved_is_loosened_by_no_call(
    old: Policy, new: Policy, situations: list[tuple[Question, dict[str, Any]]]
) -> None:
    proof = Prover(new, old).answer(Guarantee(update="loosens_nothing"))
    looser = [
        (call, state)
        for call, state in situations
        if rank(said(new, call, state)) > rank(said(old, call, state))
    ]
    assert not (proof.answer == "proved" and looser), looser[0]
    if proof.answer == "counterexample":
        assert proof.call is not None
        call = msgspec.convert(proof.call.call, Question)
        assert rank(said(new, call, proof.call.state)) > rank(said(old, call, proof.call.state))


def rank(found: Explanation) -> int:
    return ["deny", "defer", "allow"].index(found.verdict)


@SETTINGS
@given(policy=POLICIES, situations=SITUATIONS)
def test_what_is_proved_to_happen_never_happens_with_no_call(
    policy: Policy, situations: list[tuple[Question, dict[str, Any]]]
) -> None:
    prover = Prover(policy)
    call, _ = situations[0]
    asked = [
        (Guarantee(role=call.role, tool=call.tool_id, never="without_person"), "allow"),
        (Guarantee(mode=call.mode, tool=call.tool_id, never="at_all"), "allow defer"),
    ]
    for promise, forbidden in asked:
        proof = prover.answer(promise, [one for one, _ in asked])
        for one, held in situations:
            about = Judge(policy).is_about(promise, one, held)
            happens = about and said(policy, one, held).verdict in forbidden
            assert not (proof.answer == "proved" and happens), (promise, one, held)
    key = min(policy.constraints, default=None)
    if key is not None:
        dead = prover.answer(Guarantee(constraint=key, never="fire"))
        fired = [one for one, held in situations if key in fires(said(policy, one, held))]
        assert not (dead.answer == "proved" and fired), fired[0]


def fires(found: Explanation) -> set[str | None]:
    """Constraints whose condition holds: denies that stand in the way, and allows of what gets that far."""
    denied = {reason.constraint for reason in found.reasons if reason.code != "NOT_ALLOWED"}
    stopped = any(reason.constraint is None and reason.code != "NO_ALLOW" for reason in found.reasons)
    return denied if stopped else denied | set(found.allowed_by)


def whole(policy: Policy) -> bool:
    return not exported(policy).left_out


@SETTINGS
@given(
    policy=POLICIES.map(lambda one: msgspec.structs.replace(one, modes=Policy().modes)),
    call=CALLS,
    state=some.states,
)
def test_cedar_allows_what_we_allow(policy: Policy, call: Question, state: dict[str, Any]) -> None:
    found = exported(policy)
    plain = msgspec.structs.replace(
        call, mode="normal", args={} if call.tool_id in policy.tools else call.args
    )
    kept = {key: raw for key, raw in policy.constraints.items() if key not in found.left_out}
    without = {name: msgspec.structs.replace(tool, schema={}) for name, tool in policy.tools.items()}
    policy = msgspec.structs.replace(policy, constraints=kept, tools=without)
    setting = situated(policy, policy_hash(policy), state, plain)
    action: Action = setting.action
    try:
        asked = request(policy, state, action, (plain.tier, action.context["tier"]))
    except Beyond:
        return
    answer = cedarpy.is_authorized(asked, found.text, entities(action))
    assert not answer.diagnostics.errors
    ours = said(policy, plain, state)
    assert answer.allowed == (ours.verdict == "allow"), (ours, found.text, asked)
    if answer.allowed:
        asked_of_all = Guarantee(role=plain.role, tool=plain.tool_id, never="without_person")
        assert Prover(policy).answer(asked_of_all).answer != "proved"


def test_what_can_be_read_in_two_ways_is_not_asked_of_cedar() -> None:
    twofold = {"op": "exists", "args": ["fact.a.b"]}
    policy = Policy(
        constraints={
            "constraint.a": {"v": 1, "effect": "allow", "subject": None, "when": twofold},
            "constraint.b": {"v": 1, "effect": "deny", "subject": {"tool_id": "t.two"}, "when": twofold},
        }
    )
    call, state = Question(tool_id="t.one"), {"fact.a": {"v": 1, "b": 1}, "fact.a.b": {"v": 1}}
    assert said(policy, call, state).reason_code == "AMBIGUOUS_STATE"
    action = situated(policy, policy_hash(policy), state, call).action
    with pytest.raises(Beyond, match="can be read in two ways"):
        request(policy, state, action, ("PRIVILEGE", "READ_ONLY"))
    assert request(policy, {"fact.a.b": {"v": 1}}, action, ("PRIVILEGE", "READ_ONLY"))


def test_the_fragment_is_not_empty() -> None:
    policy = Policy(constraints={"constraint.a": {"v": 1, "effect": "allow", "subject": None}})
    assert whole(policy)
    assert policy.prove is UNSET
