"""Issuing, narrowing and revoking capabilities, and recording what calls came to."""

from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.capabilities import Capability, ancestors, cannot_use, widened
from beliefd.kernel.substrate.commands import IssueCapability, RevokeCapability
from beliefd.kernel.substrate.events import CapabilityIssued, CapabilityRevoked
from beliefd.kernel.values import Role, later


def issue_capability(session: Session, command: IssueCapability, facts: Facts) -> CapabilityIssued | Refused:
    """Admins issue; who holds a capability may hand on a narrower one."""
    expires_at = later(facts.now, command.expires_in_seconds)
    if command.parent is None:
        if facts.principal.role is not Role.ADMIN:
            return refused(Code.FORBIDDEN, f"role `{facts.principal.role}` may not issue capabilities", "$")
    else:
        parent = session.substrate.capabilities.get(command.parent)
        if parent is None:
            return refused(
                Code.FORBIDDEN, "the token is not that of a capability in this session", "$.parent"
            )
        problem = cannot_use(
            parent, ancestors(session.substrate.capabilities, parent), facts.principal.id, facts.now
        )
        if problem is not None:
            return refused(Code.FORBIDDEN, f"it cannot be handed on: {problem}", "$.parent")
        # INVARIANT: attenuation only narrows, in scope and in time.
        if (extra := widened(parent.scope, command.scope)) is not None:
            return refused(Code.FORBIDDEN, f"{extra} is more than `{command.parent}` allows", "$.scope")
        expires_at = min(expires_at, parent.expires_at)
    capability = Capability(
        capability_id=f"cap-{facts.event_id}",
        agent_id=command.agent_id,
        scope=command.scope,
        issued_at=facts.now,
        expires_at=expires_at,
        issued_by=facts.principal.id,
        secret_hash=command.secret_hash,
        parent=command.parent,
    )
    return CapabilityIssued(capability=capability)


def revoke_capability(
    session: Session, command: RevokeCapability, facts: Facts
) -> CapabilityRevoked | Refused:
    capability = session.substrate.capabilities.get(command.capability_id)
    if capability is None:
        return refused(Code.NOT_FOUND, f"no capability `{command.capability_id}`", "$.capability_id")
    if facts.principal.role is not Role.ADMIN and facts.principal.id != capability.issued_by:
        return refused(Code.FORBIDDEN, "only an admin or who issued it can revoke it", "$.capability_id")
    return CapabilityRevoked(capability=replace(capability, revoked_at=capability.revoked_at or facts.now))
