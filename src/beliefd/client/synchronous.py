"""Synchronous calls, and the HTTP client that makes them."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import httpx

from beliefd.client import requests
from beliefd.client.claim_calls import ClaimCalls
from beliefd.client.firewall_calls import FirewallCalls
from beliefd.client.knowledge_calls import KnowledgeCalls
from beliefd.client.requests import Ontology, Request
from beliefd.client.substrate_calls import SubstrateCalls
from beliefd.client.uncertainty_calls import UncertaintyCalls
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


class Calls(ClaimCalls, SubstrateCalls, FirewallCalls, KnowledgeCalls, UncertaintyCalls):
    """Every operation as a method. Errors are raised as `BeliefdError`."""

    @abstractmethod
    def _send(self, request: Request) -> Any:
        """Carry a request out and return its typed answer."""

    def declare_session(
        self,
        hypotheses: Iterable[str],
        ontology: Ontology,
        *,
        options: Object | None = None,
        metadata: Object | None = None,
        idempotency_key: str | None = None,
    ) -> Declared:
        """Open a session over a fixed set of hypotheses."""
        answer: Declared = self._send(
            requests.declare_session(hypotheses, ontology, options, metadata, idempotency_key)
        )
        return answer

    def list_sessions(self, *, cursor: str | None = None, limit: int | None = None) -> SessionPage:
        """One page of sessions, oldest first."""
        answer: SessionPage = self._send(requests.list_sessions(cursor, limit))
        return answer

    def query_belief(
        self,
        session_id: str,
        *,
        at: int | None = None,
        survivors_limit: int | None = None,
        survivors_after: str | None = None,
    ) -> BeliefSnapshot:
        """The state now, or right after event `at`."""
        answer: BeliefSnapshot = self._send(
            requests.query_belief(session_id, at, survivors_limit, survivors_after)
        )
        return answer

    def eliminate(
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
        answer: Eliminated = self._send(
            requests.eliminate(
                session_id, source_id, observation_id, eliminated, justification, if_match, idempotency_key
            )
        )
        return answer

    def enter_obligation(
        self,
        session_id: str,
        obligation_id: str,
        min_total_eliminations: int,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Recorded:
        """Promise eliminations before concluding."""
        answer: Recorded = self._send(
            requests.enter_obligation(
                session_id, obligation_id, min_total_eliminations, if_match, idempotency_key
            )
        )
        return answer

    def request_exit(
        self,
        session_id: str,
        obligation_id: str,
        *,
        context: Object | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Ruled:
        """Ask to be released from an obligation."""
        answer: Ruled = self._send(
            requests.request_exit(session_id, obligation_id, context, if_match, idempotency_key)
        )
        return answer

    def declare_conclusion(
        self,
        session_id: str,
        conclusion_id: str,
        *,
        context: Object | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Concluded:
        """State what the session has come to."""
        answer: Concluded = self._send(
            requests.declare_conclusion(session_id, conclusion_id, context, if_match, idempotency_key)
        )
        return answer

    def request_termination(
        self,
        session_id: str,
        *,
        context: Object | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Ruled:
        """Ask to close the session for good."""
        answer: Ruled = self._send(
            requests.request_termination(session_id, context, if_match, idempotency_key)
        )
        return answer

    def audit_trace(
        self, session_id: str, *, since_event_id: str | None = None, limit: int | None = None
    ) -> AuditPage:
        """One page of the ledger."""
        answer: AuditPage = self._send(requests.audit_trace(session_id, since_event_id, limit))
        return answer

    def verify(self, session_id: str) -> Verified:
        """Recompute the whole chain."""
        answer: Verified = self._send(requests.verify(session_id))
        return answer

    def why(self, session_id: str, hypothesis: str) -> Why:
        """Who spoke against a hypothesis."""
        answer: Why = self._send(requests.why(session_id, hypothesis))
        return answer

    def counterfactual(self, session_id: str, *, without_source_ids: Iterable[str]) -> Counterfactual:
        """What would survive had these sources never spoken."""
        answer: Counterfactual = self._send(requests.counterfactual(session_id, without_source_ids))
        return answer

    def export(self, session_id: str) -> bytes:
        """The ledger as JSON Lines."""
        answer: bytes = self._send(requests.export(session_id))
        return answer

    def merge(self, session_id: str, ledger: bytes) -> Eliminated:
        """Take over the eliminations of a replica that was apart."""
        answer: Eliminated = self._send(requests.merge(session_id, ledger))
        return answer

    def import_ledger(self, ledger: bytes) -> Imported:
        """Verify an exported ledger and take it in."""
        answer: Imported = self._send(requests.import_ledger(ledger))
        return answer

    def batch(self, session_id: str, commands: Sequence[Object]) -> list[Object]:
        """Many verbs in one request; answers (or error shapes) come back in the same order."""
        return requests.batch_answers(self._send(requests.batch(session_id, commands)))


class Client(Calls):
    """Talks to a beliefd server."""

    def __init__(self, url: str = "http://127.0.0.1:8642", token: str | None = None) -> None:
        self._url = url
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            # Loading certificates takes longer than most calls; without TLS there is nothing to check.
            verify = httpx.URL(url).scheme != "http"
            self._http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_SECONDS, verify=verify)
        except httpx.InvalidURL as error:
            raise requests.no_address(url, error) from None

    def _send(self, request: Request) -> Any:
        try:
            response = self._http.request(
                request.operation.method,
                request.url,
                params=request.query,
                content=request.content,
                headers=request.headers,
            )
        except httpx.HTTPError as error:
            raise requests.unreachable(self._url, error) from None
        return requests.decoded(request, response.status_code, response.content)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
