"""Asynchronous calls about hypotheses, experiments, evidence and intents."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from beliefd.client import firewall_requests as requests
from beliefd.client.requests import Request
from beliefd.kernel.values import Object
from beliefd.protocol.firewall_answers import (
    Discoveries,
    EvidencePage,
    ExperimentPage,
    ExperimentView,
    HypothesisPage,
    IntentPage,
    IntentView,
    LinkedEvidence,
    Reproduced,
    SpeculationAnswer,
)


class AsyncFirewallCalls(ABC):
    """The firewall's operations as methods."""

    @abstractmethod
    async def _send(self, request: Request) -> Any:
        """Carry a request out and return its typed answer."""

    async def speculate(
        self,
        session_id: str,
        claim_id: str,
        hypotheses: Sequence[Object],
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> SpeculationAnswer:
        """Note alternatives to a claim, in the speculative lane."""
        answer: SpeculationAnswer = await self._send(
            requests.speculate(session_id, claim_id, hypotheses, if_match, idempotency_key)
        )
        return answer

    async def list_hypotheses(
        self,
        session_id: str,
        *,
        claim_id: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> HypothesisPage:
        """The speculative hypotheses of a session."""
        answer: HypothesisPage = await self._send(
            requests.listing("list_hypotheses", session_id, claim_id, cursor, limit)
        )
        return answer

    async def design_experiment(
        self,
        session_id: str,
        *,
        spec: Object | None = None,
        claim: Object | None = None,
        speculation: Object | None = None,
        hints: Object | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> ExperimentView:
        """Freeze the plan of an experiment: a whole spec, or one designed from a claim."""
        given = {"spec": spec, "claim": claim, "speculation": speculation, "hints": hints}
        answer: ExperimentView = await self._send(
            requests.design_experiment(session_id, given, if_match, idempotency_key)
        )
        return answer

    async def list_experiments(
        self,
        session_id: str,
        *,
        claim_id: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> ExperimentPage:
        """The experiments of a session."""
        answer: ExperimentPage = await self._send(
            requests.listing("list_experiments", session_id, claim_id, cursor, limit)
        )
        return answer

    async def show_experiment(self, session_id: str, experiment_id: str) -> ExperimentView:
        """One experiment: its plan, its run, how far that has come."""
        answer: ExperimentView = await self._send(
            requests.of_experiment("show_experiment", session_id, experiment_id)
        )
        return answer

    async def run_experiment(
        self,
        session_id: str,
        experiment_id: str,
        *,
        wait: bool = True,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> ExperimentView:
        """Carry an experiment out; completed, it mints evidence."""
        answer: ExperimentView = await self._send(
            requests.run_experiment(session_id, experiment_id, wait, if_match, idempotency_key)
        )
        return answer

    async def cancel_experiment(self, session_id: str, experiment_id: str) -> ExperimentView:
        """Stop a run that this server is making."""
        answer: ExperimentView = await self._send(
            requests.of_experiment("cancel_experiment", session_id, experiment_id)
        )
        return answer

    async def reproduce_experiment(self, session_id: str, experiment_id: str) -> Reproduced:
        """Make a recorded run again and compare its hash; nothing is written."""
        answer: Reproduced = await self._send(
            requests.of_experiment("reproduce_experiment", session_id, experiment_id)
        )
        return answer

    async def link_evidence(
        self,
        session_id: str,
        *,
        claim_id: str,
        run_id: str,
        role: str,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> LinkedEvidence:
        """Let the evidence of a run count for its claim."""
        answer: LinkedEvidence = await self._send(
            requests.link_evidence(session_id, claim_id, run_id, role, if_match, idempotency_key)
        )
        return answer

    async def list_evidence(
        self,
        session_id: str,
        *,
        claim_id: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> EvidencePage:
        """The evidence that runs of this session have minted."""
        answer: EvidencePage = await self._send(
            requests.listing("list_evidence", session_id, claim_id, cursor, limit)
        )
        return answer

    async def list_discoveries(self, session_id: str) -> Discoveries:
        """Which of many tested claims can be believed together."""
        answer: Discoveries = await self._send(requests.list_discoveries(session_id))
        return answer

    async def stage_intent(
        self,
        session_id: str,
        change: Object,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> IntentView:
        """Ask for a change of what is believed."""
        answer: IntentView = await self._send(
            requests.stage_intent(session_id, change, if_match, idempotency_key)
        )
        return answer

    async def list_intents(
        self,
        session_id: str,
        *,
        claim_id: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> IntentPage:
        """The write intents of a session."""
        answer: IntentPage = await self._send(
            requests.listing("list_intents", session_id, claim_id, cursor, limit)
        )
        return answer

    async def show_intent(self, session_id: str, intent_id: str) -> IntentView:
        """One write intent and its life so far."""
        answer: IntentView = await self._send(requests.show_intent(session_id, intent_id))
        return answer
