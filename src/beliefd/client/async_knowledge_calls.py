"""Asynchronous calls about propositions."""

from abc import ABC, abstractmethod
from typing import Any

from beliefd.client import knowledge_requests as requests
from beliefd.client.requests import Request
from beliefd.protocol.knowledge_answers import PropositionPage, PropositionView, PropositionWhy


class AsyncKnowledgeCalls(ABC):
    """The proposition operations as methods."""

    @abstractmethod
    async def _send(self, request: Request) -> Any:
        """Carry a request out and return its typed answer."""

    async def list_propositions(
        self, *, status: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> PropositionPage:
        """Propositions of all sessions with their epistemic status, by id."""
        answer: PropositionPage = await self._send(requests.list_propositions(status, cursor, limit))
        return answer

    async def show_proposition(self, claim_id: str) -> PropositionView:
        """One proposition over all sessions, with its evidence and intents."""
        answer: PropositionView = await self._send(requests.show_proposition(claim_id))
        return answer

    async def why_proposition(self, claim_id: str) -> PropositionWhy:
        """The events that led to its status."""
        answer: PropositionWhy = await self._send(requests.why_proposition(claim_id))
        return answer
