"""Before a policy comes into force: what it promises, and what the one before promised, must hold."""

import msgspec
from msgspec import UNSET

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.policy.proving.process import prove
from beliefd.protocol.proofs import Proof


def promised(old: Policy, new: Policy) -> list[Guarantee]:
    """What must hold of a policy that comes into force: its own promises, and those of the one before.

    A promise about updates is kept by what follows, and not by the policy that begins with it.
    """
    own = [one for one in new.prove or () if one.update is UNSET]
    kept = list(old.prove or ())
    return [*kept, *(one for one in own if one not in kept)]


def guard(old: Policy, new: Policy) -> None:
    """INVARIANT: what is broken is refused, and what cannot be said is refused, too."""
    asked = promised(old, new)
    for proof in prove(new, asked, old):
        if proof.answer != "proved":
            raise BeliefdError(
                Code.CONFLICT,
                f"the policy is not adopted, `{proof.question}` is promised: {told(proof)}",
                {"path": "$.prove", "proof": msgspec.to_builtins(proof)},
            )


def told(proof: Proof) -> str:
    """What speaks against a promise, in one line."""
    if proof.call is None:
        return f"{proof.answer.replace('_', ' ')}, {proof.why}"
    call, state = (msgspec.json.encode(one).decode() for one in (proof.call.call, proof.call.state))
    verdicts = proof.call.verdicts
    before = f", before: {verdicts['old']}" if "old" in verdicts else ""
    return f"{verdicts['new']}{before}, for the call {call} on the state {state}"
