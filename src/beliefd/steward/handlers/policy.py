"""Handlers of the policy in force."""

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.protocol import claim_answers as answers
from beliefd.protocol.wire import convert
from beliefd.steward.call import Call
from beliefd.steward.handlers.shared import view_of
from beliefd.steward.policies import PolicyInForce


class PolicyHandlers(Struct, frozen=True):
    """Showing and replacing it."""

    in_force: PolicyInForce

    async def show_policy(self, _: Call) -> answers.PolicyAnswer:
        now = self.in_force
        return view_of(answers.PolicyAnswer, now.origin, policy=now.policy, policy_hash=now.hash)

    async def adopt_policy(self, call: Call) -> answers.PolicyAnswer:
        await self.in_force.bring_into_force(convert(call.body, Policy), call.principal)
        return await self.show_policy(call)
