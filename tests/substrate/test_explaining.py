"""`policy explain` says of a call what a proposal of it would be told: one function judges both."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.arbitration import propose
from beliefd.kernel.substrate.capabilities import Capability, Scope
from beliefd.kernel.substrate.events import Arbitrated
from beliefd.kernel.substrate.explaining import explain_call
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.kernel.substrate.tools import CallFinding, ProposalFindings, ToolDefinition
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.chain import policy_hash
from tests.substrate import strategies as some
from tests.substrate.kernel import NOW, facts_of, session_with
from tests.substrate.support import call_candidate, proposal

HOLDER = Principal(id="agent://holder", role=Role.AGENT, tier="WRITE_LIMITED")
TOOLS = st.dictionaries(
    st.sampled_from(some.TOOLS),
    st.builds(
        lambda capabilities, mutates, tier: {"capabilities": capabilities, "mutates": mutates, "tier": tier},
        st.lists(st.sampled_from(some.CAPABILITIES), max_size=2),
        st.booleans(),
        st.sampled_from(["READ_ONLY", "DELETE"]),
    ),
)
CAPABILITIES = st.builds(
    lambda tools, budget, used, expires_at, revoked_at: {
        "scope": {"tools": tools, "budgets": {"calls": budget}},
        "used": {"calls": used},
        "expires_at": expires_at,
        "revoked_at": revoked_at,
    },
    st.sampled_from([["*"], ["t.one"], ["t.other"]]),
    st.sampled_from([None, 1, 2]),
    st.integers(0, 2),
    st.sampled_from(["2027-01-01T00:00:00.000000Z"] * 3 + [NOW]),
    st.sampled_from([None, None, None, NOW]),
)


def capability(**given: Any) -> Capability:
    fixed = {"capability_id": "cap-1", "issued_at": NOW, "issued_by": "human://root", "secret_hash": ""}
    return msgspec.convert({**fixed, "agent_id": HOLDER.id, **given}, Capability)


@given(
    constraints=some.policies,
    tools=TOOLS,
    state=some.states,
    action=some.actions.filter(lambda one: one.tool_id is not None),
    held=CAPABILITIES,
    errors=st.sampled_from([(), (), ("`n` is missing",)]),
)
def test_explain_and_propose_agree_on_any_policy(
    constraints: dict[str, Any],
    tools: dict[str, Any],
    state: dict[str, Any],
    action: Any,
    held: dict[str, Any],
    errors: tuple[str, ...],
) -> None:
    schemas = some.SCHEMAS
    policy = msgspec.convert({"constraints": constraints, "tools": tools, "schemas": schemas}, Policy)
    token = capability(**held)
    question = Question(tool_id=action.tool_id, args=action.args, tier="WRITE_LIMITED")
    told = explain_call(policy, policy_hash(policy), state, question, errors, token, NOW)

    known = policy.tools.get(action.tool_id, ToolDefinition())
    finding = CallFinding(definition=known, argument_errors=errors, capability_id="cap-1", tier=known.tier)
    session = session_with(symbolic_state=SymbolicState(state), capabilities={"cap-1": token})
    candidate = call_candidate(action.tool_id, args=action.args, capability_id="cap-1", idempotency_key="k")
    facts = facts_of(policy, ProposalFindings(calls=(finding,)), HOLDER)
    event = propose(session, proposal(candidate), facts)
    assert isinstance(event, Arbitrated)
    (result,) = event.results

    assert (told.verdict, told.reason_code, told.on_fail) == (
        result.verdict,
        result.reason_code,
        result.on_fail,
    )
    assert told.reasons == list(result.reasons)


def test_without_a_capability_a_call_is_judged_under_one_that_allows_every_tool() -> None:
    policy = msgspec.convert({"constraints": {"constraint.all": {"v": 1, "effect": "allow"}}}, Policy)
    told = explain_call(policy, policy_hash(policy), {}, Question(tool_id="t.one"))
    assert (told.verdict, told.allowed_by, told.left_out) == ("allow", ["constraint.all"], ["capability"])
    scope = Scope(tools=("t.two",))
    told = explain_call(
        policy,
        policy_hash(policy),
        {},
        Question(tool_id="t.one"),
        (),
        capability(scope=msgspec.to_builtins(scope), expires_at="2027-01-01T00:00:00.000000Z"),
        NOW,
    )
    assert (told.verdict, told.reason_code) == ("deny", "OUT_OF_SCOPE")


@pytest.mark.parametrize(
    "now", ["0001-01-01T00:00:00.000000Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:58Z"]
)
def test_a_call_at_the_first_or_the_last_of_all_times_is_judged_like_any_other(now: str) -> None:
    when = {"op": "age_over", "args": ["fact.a.at", 5]}
    asks = {"v": 2, "effect": "ask", "subject": None, "when": when}
    rules = {"constraints": {"constraint.all": {"v": 1, "effect": "allow"}, "constraint.old": asks}}
    policy = msgspec.convert(rules, Policy)
    state = {"fact.a": {"v": 1, "at": "2026-01-01T00:00:00Z"}}
    told = explain_call(policy, policy_hash(policy), state, Question(tool_id="t.one", now=now))
    assert told.verdict == ("defer" if now.startswith("9") else "allow")
