"""What arbitration would say of a call on a given state, without a session and without a record."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace
from rpds import HashTrieMap

from beliefd.kernel.adopted import Adopted
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.evolve import begin
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.arbitration import judge
from beliefd.kernel.substrate.calls import action_of
from beliefd.kernel.substrate.capabilities import ANY, Capability, Scope
from beliefd.kernel.substrate.constraints import Action, Reason
from beliefd.kernel.substrate.events import Verdict
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.renewing import renewed
from beliefd.kernel.substrate.rulebook import reads_policy
from beliefd.kernel.substrate.situation import Situation
from beliefd.kernel.substrate.state import Substrate
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.kernel.substrate.tools import (
    CallFinding,
    ProposalFindings,
    ToolDefinition,
    could_reach,
    tightened,
)
from beliefd.kernel.values import OntologyBundle, Principal

EPOCH: Final = "1970-01-01T00:00:00.000000Z"
ANYTHING: Final = Capability(
    capability_id="cap-explained",
    agent_id="agent://explained",
    scope=Scope(tools=(ANY,), net_allowlist=(ANY,)),
    issued_at=EPOCH,
    expires_at="9999-12-31T23:59:59.999999Z",
    issued_by="",
    secret_hash="",
)
NOWHERE: Final = begin(
    "explained", DeclareSession(ontology=OntologyBundle("-", "-", "-", "-"), hypotheses=("-",))
)


class Explanation(Struct, frozen=True, kw_only=True):
    """The verdict and every reason; `left_out` says what could not be judged from files alone."""

    verdict: Verdict
    reason_code: str
    on_fail: str | None
    reasons: list[Reason]
    allowed_by: list[str]
    left_out: list[str]


def explain_call(
    policy: Policy,
    policy_hash: str,
    state: Mapping[str, Any],
    question: Question,
    argument_errors: tuple[str, ...] = (),
    capability: Capability | None = None,
    now: str = EPOCH,
) -> Explanation:
    """Judge the call as an agent's, in a session with that state; without a capability, under one for all.

    INVARIANT: what judges a proposal judges here; nothing of a verdict is worked out a second time.
    """
    left_out = ["capability"] if capability is None else ["paths and hosts of the capability's scope"]
    if policy.context is not UNSET and question.facts is UNSET:
        left_out.append("where the values of the call came from")
    setting = situated(policy, policy_hash, state, question, argument_errors, capability, now)
    situation, action = setting.situation, setting.action
    result = judge(situation, setting.candidate, setting.finding, 0)
    return Explanation(
        verdict=result.verdict,
        reason_code=result.reason_code,
        on_fail=result.on_fail,
        reasons=list(result.reasons),
        allowed_by=situation.rules.allowing(situation.state, action),
        left_out=left_out,
    )


class Setting(Struct, frozen=True):
    """A call as arbitration meets it, and as constraints read it."""

    situation: Situation
    candidate: CallCandidate
    finding: CallFinding
    action: Action


def situated(
    policy: Policy,
    policy_hash: str,
    state: Mapping[str, Any],
    question: Question,
    argument_errors: tuple[str, ...] = (),
    capability: Capability | None = None,
    now: str = EPOCH,
) -> Setting:
    """The call in a session that holds nothing but that state."""
    # What it came out of is not at hand.
    held = _anything(question) if capability is None else replace(capability, parent=None)
    facts = Facts(
        now=question.now or now,
        event_id=NOWHERE.session_id,
        principal=Principal(id=question.agent_id or held.agent_id, role=question.role, tier=question.tier),
        policy=policy,
        policy_hash=policy_hash,
        findings=ProposalFindings(in_force=Adopted() if reads_policy(policy, policy_hash) else UNSET),
    )
    capabilities = HashTrieMap({held.capability_id: held})
    substrate = Substrate(symbolic_state=SymbolicState(state), capabilities=capabilities)
    known = renewed(replace(NOWHERE, substrate=substrate), facts, question.mode)
    situation = Situation(known.session, facts, question.mode, underivable=known.problem)
    definition = _defined(policy, question)
    candidate = CallCandidate(
        tool_id=question.tool_id,
        args=question.args,
        capability_id=held.capability_id,
        idempotency_key="explained",
    )
    finding = CallFinding(
        definition=definition,
        argument_errors=argument_errors,
        capability_id=held.capability_id,
        tier=definition.tier,
        origin=question.facts,
        hosts=question.hosts,
        shell=question.shell,
        network=could_reach(definition, question.hosts),
    )
    return Setting(situation, candidate, finding, action_of(situation, candidate, finding, definition))


def _anything(question: Question) -> Capability:
    return replace(ANYTHING, agent_id=question.agent_id or ANYTHING.agent_id)


def _defined(policy: Policy, question: Question) -> ToolDefinition:
    own, named = question.definition, policy.tools.get(question.tool_id)
    if own is UNSET or named is None:
        return own or named or ToolDefinition()
    return tightened(own, named)
