"""Handlers of the policy in force."""

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.rulebook import trying
from beliefd.ledger.chain import policy_hash
from beliefd.policy.compiling import compiled_for
from beliefd.protocol.policy import PolicyAnswer
from beliefd.protocol.proofs import ProofAnswer, ProvePolicy
from beliefd.protocol.wire import convert
from beliefd.steward.call import Call
from beliefd.steward.handlers.shared import view_of
from beliefd.steward.offload import in_pool
from beliefd.steward.policies import PolicyInForce


class PolicyHandlers(Struct, frozen=True):
    """Showing and replacing it."""

    in_force: PolicyInForce

    async def show_policy(self, _: Call) -> PolicyAnswer:
        now = self.in_force
        return view_of(PolicyAnswer, now.origin, policy=now.policy, policy_hash=now.hash)

    async def adopt_policy(self, call: Call) -> PolicyAnswer:
        policy = await in_pool("parse", convert, call.body, Policy)  # it can be long
        await self.in_force.bring_into_force(policy, call.principal)
        return await self.show_policy(call)

    async def prove_policy(self, call: Call) -> ProofAnswer:
        """In a process of its own: what is long is ended there, and stops nobody here."""
        from beliefd.policy.proving.process import prove  # few servers are asked

        asked = await in_pool("parse", convert, call.body, ProvePolicy)
        now = self.in_force.policy
        policy, before = asked.policy or now, asked.against or now
        questions = asked.questions or policy.prove or ()
        with trying():
            await in_pool("question", compiled_for, policy, questions)
        proofs = await in_pool("question", prove, policy, questions, before, asked.seconds)
        holds = all(one.answer == "proved" for one in proofs)
        return ProofAnswer(policy_hash=policy_hash(policy), proofs=proofs, holds=holds)
