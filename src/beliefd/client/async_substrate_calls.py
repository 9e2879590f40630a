"""Asynchronous calls about state, proposals, tools, capabilities and memory."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from beliefd.client import substrate_requests as requests
from beliefd.client.requests import Request
from beliefd.kernel.values import Object
from beliefd.protocol.substrate_answers import (
    CapabilityView,
    IssuedCapability,
    MemoryAnswer,
    MemoryPage,
    ProposalAnswer,
    StateAnswer,
    ToolList,
)


class AsyncSubstrateCalls(ABC):
    """The substrate operations as methods."""

    @abstractmethod
    async def _send(self, request: Request) -> Any:
        """Carry a request out and return its typed answer."""

    async def show_state(self, session_id: str, *, at: str | None = None) -> StateAnswer:
        """The symbolic state, now or at a past snapshot."""
        answer: StateAnswer = await self._send(requests.show_state(session_id, at))
        return answer

    async def propose(
        self,
        session_id: str,
        candidates: Sequence[Object],
        *,
        source: str = "agent",
        inputs: Sequence[str] = (),
        state_snapshot_id: str | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> ProposalAnswer:
        """Have state changes and tool calls arbitrated; what is allowed happens."""
        answer: ProposalAnswer = await self._send(
            requests.propose(
                session_id, candidates, source, inputs, state_snapshot_id, if_match, idempotency_key
            )
        )
        return answer

    async def list_tools(self) -> ToolList:
        """Tools and their schemas."""
        answer: ToolList = await self._send(requests.list_tools())
        return answer

    async def issue_capability(
        self,
        session_id: str,
        *,
        agent_id: str,
        scope: Object,
        expires_in_seconds: int = 3600,
        parent_token: str | None = None,
        signed: bool = False,
    ) -> IssuedCapability:
        """Give an agent a capability, or narrow one down."""
        answer: IssuedCapability = await self._send(
            requests.issue_capability(session_id, agent_id, scope, expires_in_seconds, parent_token, signed)
        )
        return answer

    async def show_capability(self, session_id: str, capability_id: str) -> CapabilityView:
        """What a capability allows and how much of it is used."""
        answer: CapabilityView = await self._send(requests.show_capability(session_id, capability_id))
        return answer

    async def revoke_capability(self, capability_id: str) -> CapabilityView:
        """End a capability and all that came out of it."""
        answer: CapabilityView = await self._send(requests.revoke_capability(capability_id))
        return answer

    async def remember(
        self,
        session_id: str,
        entry: Object,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> MemoryAnswer:
        """Take an entry into memory, if it is what it says it is."""
        answer: MemoryAnswer = await self._send(
            requests.remember(session_id, entry, if_match, idempotency_key)
        )
        return answer

    async def list_memory(self, session_id: str, *, show: str | None = None) -> MemoryPage:
        """Live memory entries, or those due for review."""
        answer: MemoryPage = await self._send(requests.list_memory(session_id, show))
        return answer
