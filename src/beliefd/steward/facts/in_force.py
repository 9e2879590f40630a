"""What a decision is told of the policy that it is made under, where that policy reads `policy.*`."""

from msgspec.structs import replace

from beliefd.kernel.adopted import Adopted
from beliefd.kernel.approvals.findings import AuthorityFindings
from beliefd.kernel.facts import Findings
from beliefd.kernel.substrate.rulebook import reads_policy
from beliefd.kernel.substrate.tools import ProposalFindings, StartFindings
from beliefd.steward.policies import PolicyInForce


def with_in_force(found: Findings | None, in_force: PolicyInForce) -> Findings | None:
    """The findings with who adopted the policy, and when."""
    if not isinstance(found, ProposalFindings | StartFindings | AuthorityFindings):
        return found
    if not reads_policy(in_force.policy, in_force.hash):
        return found
    return replace(found, in_force=Adopted(by=in_force.origin.adopted_by, at=in_force.origin.adopted_at))
