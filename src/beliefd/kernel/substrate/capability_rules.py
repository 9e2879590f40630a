"""Issuing, narrowing and revoking capabilities, and recording what calls came to."""

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.capabilities import Capability, ancestors, cannot_use, widened
from beliefd.kernel.substrate.commands import IssueCapability, RevokeCapability
from beliefd.kernel.substrate.events import CapabilityIssued, CapabilityRevoked
from beliefd.kernel.substrate.issuing import (
    fresh,
    held_by_rule,
    rule_covering,
    rules_for,
    traced,
    with_issued,
    withdrawn,
)
from beliefd.kernel.values import Role, later


def issue_capability(session: Session, command: IssueCapability, facts: Facts) -> CapabilityIssued | Refused:
    """Admins issue, and policy does; who holds a capability may hand on a narrower one."""
    expires_at = later(facts.now, command.expires_in_seconds)
    issued: tuple[Capability, ...] = ()
    if command.parent is None and facts.principal.role is not Role.ADMIN:
        root = _root(session, command, facts)
        if isinstance(root, Refused):
            return root
        command, issued = replace(command, parent=root.capability_id), root.issued
        session = with_issued(session, issued)
    if command.parent is not None:
        parent = session.substrate.capabilities.get(command.parent)
        if parent is None:
            return refused(
                Code.FORBIDDEN, "the token is not that of a capability in this session", "$.parent"
            )
        lineage = ancestors(session.substrate.capabilities, parent)
        problem = cannot_use(parent, lineage, facts.principal.id, facts.now)
        problem = problem or withdrawn(facts.policy, facts.principal, (parent, *lineage))
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
        **traced(facts, command.parent),
    )
    return CapabilityIssued(capability=capability, issued=issued or UNSET)


class _Root(Struct, frozen=True):
    """What policy lets somebody narrow down, and what it issues for that right now."""

    capability_id: str
    issued: tuple[Capability, ...] = ()


def _root(session: Session, command: IssueCapability, facts: Facts) -> _Root | Refused:
    """INVARIANT: without an admin, everybody gets what policy issues to them, for themselves and no more."""
    who = facts.principal
    if not (rules := rules_for(facts.policy, who)):
        return refused(Code.FORBIDDEN, f"role `{who.role}` may not issue capabilities", "$")
    if command.agent_id != who.id:
        text = f"policy issues to `{who.id}` what `{who.id}` uses; hand it on with `parent_token`"
        return refused(Code.FORBIDDEN, text, "$.agent_id")
    rule = rule_covering(rules, command.scope)
    if isinstance(rule, str):
        return refused(Code.FORBIDDEN, f"{rule} is more than policy issues to `{who.id}`", "$.scope")
    if issued := fresh(session, (rule,), facts):
        return _Root(issued[0].capability_id, issued)
    held = held_by_rule(session, rule, who)
    assert held is not None  # noqa: S101 - otherwise it was issued right now
    return _Root(held.capability_id)


def revoke_capability(
    session: Session, command: RevokeCapability, facts: Facts
) -> CapabilityRevoked | Refused:
    capability = session.substrate.capabilities.get(command.capability_id)
    if capability is None:
        return refused(Code.NOT_FOUND, f"no capability `{command.capability_id}`", "$.capability_id")
    if facts.principal.role is not Role.ADMIN and facts.principal.id != capability.issued_by:
        return refused(Code.FORBIDDEN, "only an admin or who issued it can revoke it", "$.capability_id")
    return CapabilityRevoked(capability=replace(capability, revoked_at=capability.revoked_at or facts.now))
