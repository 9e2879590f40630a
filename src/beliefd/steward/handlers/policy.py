"""Handlers of the policy in force."""

import asyncio

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.protocol.policy import PolicyAnswer
from beliefd.protocol.wire import convert
from beliefd.steward.call import Call
from beliefd.steward.handlers.shared import view_of
from beliefd.steward.policies import PolicyInForce


class PolicyHandlers(Struct, frozen=True):
    """Showing and replacing it."""

    in_force: PolicyInForce

    async def show_policy(self, _: Call) -> PolicyAnswer:
        now = self.in_force
        return view_of(PolicyAnswer, now.origin, policy=now.policy, policy_hash=now.hash)

    async def adopt_policy(self, call: Call) -> PolicyAnswer:
        policy = await asyncio.to_thread(convert, call.body, Policy)  # it can be long
        await self.in_force.bring_into_force(policy, call.principal)
        return await self.show_policy(call)
