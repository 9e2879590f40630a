"""Tiers of tools: which one counts, whether the caller's own reaches it, and when a person is asked."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.policy import HUMAN_ALWAYS, Policy
from beliefd.kernel.substrate.constraints import Constraint, Failure, Judgement, Reason, Subject
from beliefd.kernel.substrate.tools import CallFinding
from beliefd.kernel.values import Principal, Tier, TierName

PERSON: Final = "tools_without_person"
"""The field of the policy that stands in the way, named like a constraint."""


def tool_tier(policy: Policy, tool_id: str, finding: CallFinding) -> TierName:
    """The tier of a tool that is registered: its own, raised by policy."""
    own: TierName = "READ_ONLY" if finding.tier is UNSET else finding.tier
    declared: TierName = own if finding.definition is None else finding.definition.tier
    return policy.tool_tier(tool_id, max(own, declared, key=lambda name: Tier[name]))


def beneath(who: Principal, tool_id: str, tier: TierName, finding: CallFinding) -> list[Reason]:
    """INVARIANT: nobody calls a tool of a higher tier than the caller's own, whatever constraints allow."""
    if finding.tier is UNSET or Tier[who.tier] >= Tier[tier]:
        return []
    text = f"`{who.id}` has tier {who.tier}, and `{tool_id}` needs {tier}"
    return [Reason(code="TIER_TOO_LOW", text=text, remedy=f"a principal of tier {tier}")]


def with_person(
    judgement: Judgement, policy: Policy, tool_id: str, tier: TierName, finding: CallFinding
) -> Judgement:
    """The judgement with a question to a person, where the tier calls for one.

    Only where something allows the call: what is blocked anyway is nobody's question.
    """
    if finding.tier is UNSET or not judgement.allowable or not policy.approvals.asks_person(tool_id, tier):
        return judgement
    asks = Constraint(
        PERSON,
        subject=Subject(tool_id=tool_id),
        on_fail="ask",
        reason=f"`{tool_id}` is {tier}, and a person decides about {' and '.join(HUMAN_ALWAYS)}",
        # What a yes binds: the same tool at another tier is another question.
        raw={"tool_id": tool_id, "tier": tier},
        remedy="a person who approves it",
    )
    return replace(judgement, failures=(*judgement.failures, Failure(asks, "NEEDS_PERSON")))
