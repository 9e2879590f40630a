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
from beliefd.kernel.substrate.paths import ABSENT, look_up
from beliefd.kernel.substrate.predicates import paths_read
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.rulebook import rulebook
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


PLAIN = POLICIES.map(lambda one: msgspec.structs.replace(one, modes=Policy().modes))


def in_cedar(policy: Policy) -> Policy:
    """The part of a policy that Cedar has words for. Its callers run the tools, so they are what it says."""
    left_out = exported(policy).left_out
    kept = {key: raw for key, raw in policy.constraints.items() if key not in left_out}
    tools = {
        name: msgspec.structs.replace(tool, schema={}, executor="caller")
        for name, tool in policy.tools.items()
    }
    return msgspec.structs.replace(policy, constraints=kept, tools=tools)


def plainly(policy: Policy, call: Question) -> Question:
    return msgspec.structs.replace(
        call, mode="normal", args={} if call.tool_id in policy.tools else call.args
    )


def asked_of_cedar(
    policy: Policy, call: Question, state: dict[str, Any]
) -> tuple[bool, dict[str, Any]] | None:
    """Whether Cedar allows it, and what it was told; None where it cannot be told."""
    setting = situated(policy, policy_hash(policy), state, call)
    action: Action = setting.action
    try:
        asked = request(policy, state, action, (call.tier, action.context["tier"]))
    except Beyond:
        return None
    answer = cedarpy.is_authorized(asked, exported(policy).text, entities(action))
    assert not answer.diagnostics.errors
    return bool(answer.allowed), action.known(state)  # type: ignore[return-value]


def exactly(policy: Policy, call: Question, known: dict[str, Any]) -> dict[str, Any]:
    """A condition that holds of calls of which constraints read just this."""
    conditions = (one.when for one in rulebook(policy, policy_hash(policy)).constraints if one.when)
    held = {path: look_up(known, path) for when in conditions for path in paths_read(when)}
    missing = [{"op": "missing", "args": [path]} for path, value in held.items() if value is ABSENT]
    there = [{"op": "eq", "args": [path, value]} for path, value in held.items() if value is not ABSENT]
    return {"op": "all", "args": [*missing, *there]}


@SETTINGS
@given(policy=PLAIN, call=CALLS, state=some.states)
def test_cedar_and_the_proof_allow_and_deny_what_we_do(
    policy: Policy, call: Question, state: dict[str, Any]
) -> None:
    call, policy = plainly(policy, call), in_cedar(policy)
    found = asked_of_cedar(policy, call, state)
    if found is None:
        return
    allowed, known = found
    ours = said(policy, call, state)
    assert allowed == (ours.verdict == "allow"), (ours, exported(policy).text)
    if call.tool_id not in policy.tools:
        return  # of what is not declared, there are tools of every kind
    asked = Guarantee(
        role=call.role,
        tool=call.tool_id,
        agent_tier=call.tier,
        mode="normal",
        when=exactly(policy, call, known),
        never="without_person",
    )
    proof = Prover(policy).answer(asked)
    assert proof.answer in ({"counterexample", "cannot_say"} if allowed else {"proved", "cannot_say"}), proof


@SETTINGS
@given(old=PLAIN, new=PLAIN, situations=SITUATIONS)
def test_an_update_that_is_proved_permits_nothing_new_by_cedar_either(
    old: Policy, new: Policy, situations: list[tuple[Question, dict[str, Any]]]
) -> None:
    old, new = in_cedar(old), in_cedar(new)
    proof = Prover(new, old).answer(Guarantee(update="permits_nothing_new"))
    if proof.answer != "proved":
        return
    for asked, state in situations:
        call = plainly(new, plainly(old, asked))
        before, after = asked_of_cedar(old, call, state), asked_of_cedar(new, call, state)
        assert before is None or after is None or before[0] or not after[0], (call, state)


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
