"""Handlers of the policy in force."""

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.protocol import claim_answers as answers
from beliefd.protocol.wire import convert
from beliefd.steward.call import Call
from beliefd.steward.policies import PolicyInForce


class PolicyHandlers(Struct, frozen=True):
    """Showing and replacing it."""

    in_force: PolicyInForce

    async def show_policy(self, _: Call) -> answers.PolicyAnswer:
        origin = self.in_force.origin
        return answers.PolicyAnswer(
            policy_hash=self.in_force.hash,
            policy=self.in_force.policy,
            source=origin.source,
            adopted_at=origin.adopted_at,
            adopted_by=origin.adopted_by,
        )

    async def adopt_policy(self, call: Call) -> answers.PolicyAnswer:
        await self.in_force.bring_into_force(convert(call.body, Policy), call.principal)
        return await self.show_policy(call)
