"""Asynchronous calls, and the HTTP client that makes them."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import httpx

from beliefd.client import requests
from beliefd.client.async_claim_calls import AsyncClaimCalls
from beliefd.client.async_firewall_calls import AsyncFirewallCalls
from beliefd.client.async_knowledge_calls import AsyncKnowledgeCalls
from beliefd.client.async_substrate_calls import AsyncSubstrateCalls
from beliefd.client.async_uncertainty_calls import AsyncUncertaintyCalls
from beliefd.client.requests import Ontology, Request
from beliefd.kernel.values import Object
from beliefd.protocol.answers import (
    AuditPage,
    BeliefSnapshot,
    Concluded,
    Counterfactual,
    Declared,
    Eliminated,
    Imported,
    Recorded,
    Ruled,
    SessionPage,
    Verified,
    Why,
)

TIMEOUT_SECONDS = 30.0


class AsyncCalls(
    AsyncClaimCalls, AsyncSubstrateCalls, AsyncFirewallCalls, AsyncKnowledgeCalls, AsyncUncertaintyCalls
):
    """Every operation as a method. Errors are raised as `BeliefdError`."""

    @abstractmethod
    async def _send(self, request: Request) -> Any:
        """Carry a request out and return its typed answer."""

    async def declare_session(
        self,
        hypotheses: Iterable[str],
        ontology: Ontology,
        *,
        options: Object | None = None,
        metadata: Object | None = None,
        idempotency_key: str | None = None,
    ) -> Declared:
        """Open a session over a fixed set of hypotheses."""
        answer: Declared = await self._send(
            requests.declare_session(hypotheses, ontology, options, metadata, idempotency_key)
        )
        return answer

    async def list_sessions(self, *, cursor: str | None = None, limit: int | None = None) -> SessionPage:
        """One page of sessions, oldest first."""
        answer: SessionPage = await self._send(requests.list_sessions(cursor, limit))
        return answer

    async def query_belief(
        self,
        session_id: str,
        *,
        at: int | None = None,
        survivors_limit: int | None = None,
        survivors_after: str | None = None,
    ) -> BeliefSnapshot:
        """The state now, or right after event `at`."""
        answer: BeliefSnapshot = await self._send(
            requests.query_belief(session_id, at, survivors_limit, survivors_after)
        )
        return answer

    async def eliminate(
        self,
        session_id: str,
        *,
        source_id: str,
        observation_id: str,
        eliminated: Iterable[str],
        justification: Object | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Eliminated:
        """Remove hypotheses that an observation contradicts."""
        answer: Eliminated = await self._send(
            requests.eliminate(
                session_id, source_id, observation_id, eliminated, justification, if_match, idempotency_key
            )
        )
        return answer

    async def enter_obligation(
        self,
        session_id: str,
        obligation_id: str,
        min_total_eliminations: int,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Recorded:
        """Promise eliminations before concluding."""
        answer: Recorded = await self._send(
            requests.enter_obligation(
                session_id, obligation_id, min_total_eliminations, if_match, idempotency_key
            )
        )
        return answer

    async def request_exit(
        self,
        session_id: str,
        obligation_id: str,
        *,
        context: Object | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Ruled:
        """Ask to be released from an obligation."""
        answer: Ruled = await self._send(
            requests.request_exit(session_id, obligation_id, context, if_match, idempotency_key)
        )
        return answer

    async def declare_conclusion(
        self,
        session_id: str,
        conclusion_id: str,
        *,
        context: Object | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Concluded:
        """State what the session has come to."""
        answer: Concluded = await self._send(
            requests.declare_conclusion(session_id, conclusion_id, context, if_match, idempotency_key)
        )
        return answer

    async def request_termination(
        self,
        session_id: str,
        *,
        context: Object | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Ruled:
        """Ask to close the session for good."""
        answer: Ruled = await self._send(
            requests.request_termination(session_id, context, if_match, idempotency_key)
        )
        return answer

    async def audit_trace(
        self, session_id: str, *, since_event_id: str | None = None, limit: int | None = None
    ) -> AuditPage:
        """One page of the ledger."""
        answer: AuditPage = await self._send(requests.audit_trace(session_id, since_event_id, limit))
        return answer

    async def verify(self, session_id: str) -> Verified:
        """Recompute the whole chain."""
        answer: Verified = await self._send(requests.verify(session_id))
        return answer

    async def why(self, session_id: str, hypothesis: str) -> Why:
        """Who spoke against a hypothesis."""
        answer: Why = await self._send(requests.why(session_id, hypothesis))
        return answer

    async def counterfactual(self, session_id: str, *, without_source_ids: Iterable[str]) -> Counterfactual:
        """What would survive had these sources never spoken."""
        answer: Counterfactual = await self._send(requests.counterfactual(session_id, without_source_ids))
        return answer

    async def export(self, session_id: str) -> bytes:
        """The ledger as JSON Lines."""
        answer: bytes = await self._send(requests.export(session_id))
        return answer

    async def merge(self, session_id: str, ledger: bytes) -> Eliminated:
        """Take over the eliminations of a replica that was apart."""
        answer: Eliminated = await self._send(requests.merge(session_id, ledger))
        return answer

    async def import_ledger(self, ledger: bytes) -> Imported:
        """Verify an exported ledger and take it in."""
        answer: Imported = await self._send(requests.import_ledger(ledger))
        return answer

    async def batch(self, session_id: str, commands: Sequence[Object]) -> list[Object]:
        """Many verbs in one request; answers (or error shapes) come back in the same order."""
        return requests.batch_answers(await self._send(requests.batch(session_id, commands)))


class AsyncClient(AsyncCalls):
    """Talks to a beliefd server."""

    def __init__(self, url: str = "http://127.0.0.1:8642", token: str | None = None) -> None:
        self._url = url
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            # Loading certificates takes longer than most calls; without TLS there is nothing to check.
            verify = httpx.URL(url).scheme != "http"
            self._http = httpx.AsyncClient(
                base_url=url, headers=headers, timeout=TIMEOUT_SECONDS, verify=verify
            )
        except httpx.InvalidURL as error:
            raise requests.no_address(url, error) from None

    async def _send(self, request: Request) -> Any:
        try:
            response = await self._http.request(
                request.operation.method,
                request.url,
                params=request.query,
                content=request.content,
                headers=request.headers,
            )
        except httpx.HTTPError as error:
            raise requests.unreachable(self._url, error) from None
        return requests.decoded(request, response.status_code, response.content)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
