"""Handlers of capabilities."""

import hashlib
import secrets
from typing import Any

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.substrate.capabilities import Capability
from beliefd.kernel.substrate.events import (
    CapabilityIssued,
    CapabilityRevoked,
)
from beliefd.kernel.substrate.proposals import (
    IssueCapability,
    RevokeCapability,
)
from beliefd.protocol import substrate_answers as answers
from beliefd.protocol.substrate_operations import CapabilityRequest
from beliefd.protocol.wire import convert
from beliefd.steward.call import Call
from beliefd.steward.facts.call_facts import UNPROVEN, check_token, presented
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for
from beliefd.tools.biscuit import Signer


class CapabilityHandlers:
    """Capabilities, and the tokens that prove them."""

    def __init__(self, positions: Positions, submit: Submit, signer: Signer | None) -> None:
        self._positions = positions
        self._submit = submit
        self._signer = signer

    async def issue_capability(self, call: Call) -> answers.IssuedCapability:
        asked = convert(call.body, CapabilityRequest)
        signer = self._signer if asked.signed else None
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
            agent_id=asked.agent_id,
            scope=asked.scope,
            expires_in_seconds=asked.expires_in_seconds,
            secret_hash=hashlib.sha256(secret.encode()).hexdigest(),
            parent=parent,
        )
        outcome = await submit_for(self._submit, asked.session_id, command, call)
        assert isinstance(outcome.event, CapabilityIssued)  # noqa: S101
        capability = outcome.event.capability
        token = f"{capability.capability_id}.{secret}"
        return answers.IssuedCapability(
            # Of a signed capability nobody knows the secret: the signature is all that proves it.
            token=token if signer is None else signer.sign(asked.session_id, capability),
            capability=_capability(f"{asked.session_id}/{capability.capability_id}", capability),
            public_key=None if signer is None else signer.public_key,
        )

    async def _proven_parent(self, session_id: str, token: str) -> str | None:
        """The capability that is to be handed on; one that its holder has narrowed down is another one."""
        session = (await self._positions.existing(session_id)).session
        capability_id, narrowed, proof = presented(token, self._signer)
        return None if narrowed else check_token(session, capability_id, proof)[0]

    async def show_capability(self, call: Call) -> answers.CapabilityView:
        session = (await self._positions.existing(call.session_id)).session
        capability = session.capabilities.get(call.path["capability_id"])
        if capability is None:
            raise _no_capability(call.path["capability_id"])
        return _capability(f"{call.session_id}/{capability.capability_id}", capability)

    async def revoke_capability(self, call: Call) -> answers.CapabilityView:
        """Named as `<session>/<capability>`, the way it was issued."""
        session_id, slash, capability_id = call.path["capability_id"].partition("/")
        if not slash:
            raise _no_capability(session_id)
        command = RevokeCapability(capability_id=capability_id)
        outcome = await submit_for(self._submit, session_id, command, call)
        assert isinstance(outcome.event, CapabilityRevoked)  # noqa: S101
        return _capability(call.path["capability_id"], outcome.event.capability)


def _capability(name: str, capability: Capability) -> answers.CapabilityView:
    session_id = name.partition("/")[0]
    shown: dict[str, Any] = {
        field: getattr(capability, field) for field in capability.__struct_fields__ if field != "secret_hash"
    }
    return answers.CapabilityView(**{**shown, "capability_id": name}, session_id=session_id)


def _no_capability(name: str) -> BeliefdError:
    return BeliefdError(Code.NOT_FOUND, f"no capability `{name[:64]}`", {"path": "capability_id"})
