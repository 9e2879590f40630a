"""What arbitration would say of a call on a given state, without a session and without a record."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.capabilities import Capability, cannot_use, exhausted, out_of_scope
from beliefd.kernel.substrate.constraints import Action, Reason
from beliefd.kernel.substrate.events import Verdict
from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.kernel.substrate.situation import failed
from beliefd.kernel.substrate.state import NORMAL_MODE
from beliefd.kernel.substrate.tools import CallFinding, ToolDefinition
from beliefd.kernel.values import Value


class Question(Value, frozen=True):
    """A call that somebody might make."""

    tool_id: str
    args: dict[str, Any] = {}


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
    now: str = "",
) -> Explanation:
    definition = policy.tools.get(question.tool_id, ToolDefinition())
    reasons = [Reason(code="BAD_ARGUMENTS", text=text) for text in argument_errors]
    left_out = ["capability"]
    if capability is not None:
        left_out = ["paths and hosts of the capability's scope"]
        reasons += _capability_reasons(capability, question.tool_id, now)
    context: dict[str, Any] = {"tier": definition.tier, "mutates": definition.mutates}
    context |= {"mode": NORMAL_MODE, "confirmed": False}
    if capability is not None:
        context["agent_id"] = capability.agent_id
    action = Action(question.tool_id, definition.capabilities, question.args, context)
    rules = rulebook(policy, policy_hash)
    result = failed(rules.truths(state).judge(state, action), action.known(state), rules)
    every = reasons + ([] if result is None else list(result.reasons))
    # What is wrong with the call itself is blocked, whatever the constraints would do.
    on_fail = "block" if reasons else (None if result is None else result.on_fail)
    return Explanation(
        verdict="deny" if reasons else ("allow" if result is None else result.verdict),
        reason_code=every[0].code if every else "ALLOWED",
        on_fail=on_fail,
        reasons=every,
        allowed_by=rules.allowing(state, action),
        left_out=left_out,
    )


def _capability_reasons(capability: Capability, tool_id: str, now: str) -> list[Reason]:
    problem = cannot_use(capability, (), capability.agent_id, now)
    if problem is not None:
        return [Reason(code="BAD_CAPABILITY", text=problem)]
    found = [
        Reason(code="OUT_OF_SCOPE", text=text)
        for text in out_of_scope(capability.scope, tool_id, CallFinding())
    ]
    if (spent := exhausted(capability)) is not None:
        found.append(Reason(code="BUDGET_EXHAUSTED", text=spent))
    return found
