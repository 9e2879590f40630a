"""Handlers of capabilities: issue, narrow down, show and revoke them."""

import hashlib
import secrets
from typing import Any, TypeVar

from msgspec import Struct

from beliefd.kernel.errors import Code, invalid
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.capabilities import Amounts, Capability, Scope, ancestors
from beliefd.kernel.substrate.commands import IssueCapability, RevokeCapability
from beliefd.kernel.substrate.events import CapabilityIssued, CapabilityRevoked
from beliefd.kernel.substrate.issuing import rules_for, still_held
from beliefd.kernel.substrate.reserving import left_of
from beliefd.kernel.values import Principal
from beliefd.protocol.capabilities import (
    CapabilityLevel,
    CapabilityPage,
    CapabilityRequest,
    CapabilityView,
    IssuedCapability,
    RevokedCapability,
)
from beliefd.protocol.wire import convert
from beliefd.steward.call import Call
from beliefd.steward.environment import Environment
from beliefd.steward.facts.call_facts import UNPROVEN, check_token, presented
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.shared import filling, page, view_of
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for
from beliefd.tools.biscuit import Signer


class CapabilityHandlers(Struct, frozen=True):
    """Capabilities, and the tokens that prove them."""

    positions: Positions
    submit: Submit
    signer: Signer | None
    in_force: PolicyInForce
    environment: Environment

    async def issue_capability(self, call: Call) -> IssuedCapability:
        asked = convert(call.body, CapabilityRequest)
        signer = self.signer if asked.signed else None
        if asked.signed and signer is None:
            raise invalid("this server has no key to sign tokens with", "$.signed")
        if signer is not None:
            signer.public_key  # noqa: B018 - what is missing for signing is found out before anything is issued
        parent = None
        if asked.parent_token is not None:
            # A token that proves nothing is put before the kernel all the same: its refusal is on record.
            parent = await self._proven_parent(asked.session_id, asked.parent_token) or UNPROVEN
        secret = secrets.token_urlsafe(32)
        command = IssueCapability(
            agent_id=asked.agent_id or call.principal.id,
            scope=asked.scope or self._scope_by_policy(call.principal),
            expires_in_seconds=asked.expires_in_seconds,
            secret_hash=hashlib.sha256(secret.encode()).hexdigest(),
            parent=parent,
        )
        outcome, event = await submit_for(call, self.submit, asked.session_id, command, CapabilityIssued)
        capability = event.capability
        token = f"{capability.capability_id}.{secret}"
        return IssuedCapability(
            # Of a signed capability nobody knows the secret: the signature is all that proves it.
            token=token if signer is None else signer.sign(asked.session_id, capability),
            capability=_capability(CapabilityView, outcome.session, capability),
            public_key=None if signer is None else signer.public_key,
        )

    def _scope_by_policy(self, who: Principal) -> Scope:
        """All that the first rule of the policy issues to somebody."""
        rules = rules_for(self.in_force.policy, who)
        if not rules:
            raise invalid(f"policy issues nothing to `{who.id}`: say which `scope`", "$.scope")
        return rules[0].scope

    async def _proven_parent(self, session_id: str, token: str) -> str | None:
        """The capability that is to be handed on; one that its holder has narrowed down is another one."""
        session = (await self.positions.existing(session_id)).session
        capability_id, narrowed, proof = presented(token, self.signer)
        return None if narrowed else check_token(session, capability_id, proof)[0]

    async def list_capabilities(self, call: Call) -> CapabilityPage:
        """INVARIANT: no view holds a secret or its hash; who may read the session may read them."""
        session = (await self.positions.existing(call.session_id)).counted
        held = session.substrate.capabilities
        names, after = page(held, call, str)
        views = (_capability(CapabilityView, session, held[name]) for name in names)
        shown, after = filling(views, names, after)
        return CapabilityPage(capabilities=shown, next=after)

    async def show_capability(self, call: Call) -> CapabilityView:
        """Named as it was issued, with its session, or without."""
        session = (await self.positions.existing(call.session_id)).counted
        name = call.path["capability_id"].removeprefix(f"{call.session_id}/")
        capability = session.substrate.capabilities.get(name)
        if capability is None:
            raise not_found(Code.NOT_FOUND, "capability", call.path["capability_id"])
        return _capability(CapabilityView, session, capability)

    async def revoke_capability(self, call: Call) -> RevokedCapability:
        """Named as `<session>/<capability>`, the way it was issued."""
        session_id, slash, capability_id = call.path["capability_id"].partition("/")
        if not slash:
            raise not_found(Code.NOT_FOUND, "capability", session_id)
        command = RevokeCapability(capability_id=capability_id)
        outcome, event = await submit_for(call, self.submit, session_id, command, CapabilityRevoked)
        session, ended = outcome.session, event.capability
        others = still_held(session, ended.agent_id, self.in_force.policy, self.environment.now())
        named = [_named(session, name) for name in others]
        return _capability(RevokedCapability, session, ended, still_held=named)


V = TypeVar("V", bound=CapabilityView)


def _capability(kind: type[V], session: Session, capability: Capability, **rest: Any) -> V:
    return view_of(
        kind,
        capability,
        capability_id=_named(session, capability.capability_id),
        session_id=session.session_id,
        reserved=capability.reserved or Amounts(),
        rule=capability.rule or None,
        policy_hash=capability.policy_hash or None,
        provenance=capability.provenance or None,
        left=left_of(capability),
        parents=[
            view_of(
                CapabilityLevel,
                one,
                capability_id=_named(session, one.capability_id),
                budgets=one.scope.budgets,
                reserved=one.reserved or Amounts(),
                left=left_of(one),
            )
            for one in ancestors(session.substrate.capabilities, capability)
        ],
        **rest,
    )


def _named(session: Session, capability_id: str) -> str:
    """The way it is revoked."""
    return f"{session.session_id}/{capability_id}"
