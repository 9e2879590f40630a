"""Handlers of the policy in force."""

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.protocol.policy import PolicyAnswer
from beliefd.protocol.wire import convert
from beliefd.steward.call import Call
from beliefd.steward.handlers.shared import view_of
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.system import SystemLedger


class PolicyHandlers(Struct, frozen=True):
    """Showing and replacing it."""

    in_force: PolicyInForce
    system: SystemLedger

    async def show_policy(self, _: Call) -> PolicyAnswer:
        now = self.in_force
        return view_of(PolicyAnswer, now.origin, policy=now.policy, policy_hash=now.hash)

    async def adopt_policy(self, call: Call) -> PolicyAnswer:
        await self.in_force.bring_into_force(
            convert(call.body, Policy),
            call.principal,
            lambda name: self.system.adopt_policy(name, "adopted", call.principal),
        )
        return await self.show_policy(call)
