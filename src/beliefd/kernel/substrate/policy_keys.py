"""`policy.*`: what constraints and rules can read of the policy that is in force. Nobody writes it.

It stands in no state: the kernel lays it under the state for as long as it decides.
"""

from typing import Any, Final

from msgspec import UNSET

from beliefd.kernel.adopted import Adopted, InForce
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy

POLICY: Final = "policy"


def is_of_policy(path: str) -> bool:
    return path == POLICY or path.startswith(f"{POLICY}.")


def policy_keys(policy: Policy, policy_hash: str, mode: str, adopted: Adopted) -> dict[str, Any]:
    """By name what stands under `policy.`; what nobody adopted has no `adopted_by` and no `adopted_at`, and
    where its author has not said which version it is, that is the one of its format."""
    known = {
        "hash": policy_hash,
        "version": policy.version or policy.v,
        "mode": mode,
        "adopted_by": adopted.by,
        "adopted_at": adopted.at,
    }
    return {name: value for name, value in known.items() if value is not None}


NAMES: Final = tuple(policy_keys(Policy(), "", "", Adopted(by="", at="")))


def policy_seen(facts: Facts, mode: str) -> dict[str, Any] | None:
    """What a decision sees under `policy`; None where nothing of the policy asks for it."""
    adopted: InForce = getattr(facts.findings, "in_force", UNSET)
    return None if adopted is UNSET else policy_keys(facts.policy, facts.policy_hash, mode, adopted)
