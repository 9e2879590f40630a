"""Calls about hypotheses, experiments, evidence, intents and propositions."""

from collections.abc import Sequence
from typing import Unpack

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, PageOfClaim, Request, command, given, query
from beliefd.kernel.values import Object
from beliefd.protocol.experiments import (
    Discoveries,
    EvidencePage,
    ExperimentPage,
    ExperimentRows,
    ExperimentView,
    LinkedEvidence,
    Reproduced,
)
from beliefd.protocol.intents import IntentPage, IntentRows, IntentView
from beliefd.protocol.knowledge import KnowledgeRows, PropositionPage, PropositionView, PropositionWhy
from beliefd.protocol.operation import A, Operation
from beliefd.protocol.speculation import HypothesisPage, SpeculationAnswer, SpeculationRows


class ExperimentCalls:
    """From alternatives to a claim to what is believed of it."""

    @Method
    def speculate(
        self, session_id: str, claim_id: str, hypotheses: Sequence[Object], **conditions: Unpack[Conditions]
    ) -> Request[SpeculationAnswer]:
        """Note alternatives to a claim, in the speculative lane."""
        body = {"claim_id": claim_id, "hypotheses": list(hypotheses)}
        return command(SpeculationRows.speculate, {"session_id": session_id}, body, **conditions)

    @Method
    def list_hypotheses(self, session_id: str, **asked: Unpack[PageOfClaim]) -> Request[HypothesisPage]:
        """The speculative hypotheses of a session."""
        return _page(SpeculationRows.list_hypotheses, session_id, **asked)

    @Method
    def design_experiment(
        self,
        session_id: str,
        *,
        spec: Object | None = None,
        claim: Object | None = None,
        speculation: Object | None = None,
        hints: Object | None = None,
        **conditions: Unpack[Conditions],
    ) -> Request[ExperimentView]:
        """Freeze the plan of an experiment: a whole spec, or one designed from a claim."""
        body = given(spec=spec, claim=claim, speculation=speculation, hints=hints)
        return command(ExperimentRows.design_experiment, {"session_id": session_id}, body, **conditions)

    @Method
    def list_experiments(self, session_id: str, **asked: Unpack[PageOfClaim]) -> Request[ExperimentPage]:
        """The experiments of a session."""
        return _page(ExperimentRows.list_experiments, session_id, **asked)

    @Method
    def show_experiment(self, session_id: str, experiment_id: str) -> Request[ExperimentView]:
        """One experiment: its plan, its run, how far that has come."""
        return Request(ExperimentRows.show_experiment, _experiment(session_id, experiment_id))

    @Method
    def run_experiment(
        self, session_id: str, experiment_id: str, *, wait: bool = True, **conditions: Unpack[Conditions]
    ) -> Request[ExperimentView]:
        """Carry an experiment out; completed, it mints evidence."""
        path = _experiment(session_id, experiment_id)
        return command(ExperimentRows.run_experiment, path, {"wait": wait}, **conditions)

    @Method
    def cancel_experiment(self, session_id: str, experiment_id: str) -> Request[ExperimentView]:
        """Stop a run that this server is making."""
        return Request(ExperimentRows.cancel_experiment, _experiment(session_id, experiment_id))

    @Method
    def reproduce_experiment(self, session_id: str, experiment_id: str) -> Request[Reproduced]:
        """Make a recorded run again and compare its hash; nothing is written."""
        return Request(ExperimentRows.reproduce_experiment, _experiment(session_id, experiment_id), body={})

    @Method
    def link_evidence(
        self, session_id: str, *, claim_id: str, run_id: str, role: str, **conditions: Unpack[Conditions]
    ) -> Request[LinkedEvidence]:
        """Let the evidence of a run count for its claim."""
        body = {"claim_id": claim_id, "run_id": run_id, "role": role}
        return command(ExperimentRows.link_evidence, {"session_id": session_id}, body, **conditions)

    @Method
    def list_evidence(self, session_id: str, **asked: Unpack[PageOfClaim]) -> Request[EvidencePage]:
        """The evidence that runs of this session have minted."""
        return _page(ExperimentRows.list_evidence, session_id, **asked)

    @Method
    def list_discoveries(self, session_id: str) -> Request[Discoveries]:
        """Which of many tested claims can be believed together."""
        return Request(ExperimentRows.list_discoveries, {"session_id": session_id})

    @Method
    def stage_intent(
        self, session_id: str, change: Object, **conditions: Unpack[Conditions]
    ) -> Request[IntentView]:
        """Ask for a change of what is believed."""
        body = given(**change)
        return command(IntentRows.stage_intent, {"session_id": session_id}, body, **conditions)

    @Method
    def list_intents(self, session_id: str, **asked: Unpack[PageOfClaim]) -> Request[IntentPage]:
        """The write intents of a session."""
        return _page(IntentRows.list_intents, session_id, **asked)

    @Method
    def show_intent(self, session_id: str, intent_id: str) -> Request[IntentView]:
        """One write intent and its life so far."""
        return Request(IntentRows.show_intent, {"session_id": session_id, "intent_id": intent_id})

    @Method
    def list_propositions(
        self, *, status: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> Request[PropositionPage]:
        """Propositions of all sessions with their epistemic status, by id."""
        asked = query(status=status, cursor=cursor, limit=limit)
        return Request(KnowledgeRows.list_propositions, query=asked)

    @Method
    def show_proposition(self, claim_id: str) -> Request[PropositionView]:
        """One proposition over all sessions, with its evidence and intents."""
        return Request(KnowledgeRows.show_proposition, {"claim_id": claim_id})

    @Method
    def why_proposition(self, claim_id: str) -> Request[PropositionWhy]:
        """The events that led to its status."""
        return Request(KnowledgeRows.why_proposition, {"claim_id": claim_id})


def _experiment(session_id: str, experiment_id: str) -> dict[str, str]:
    return {"session_id": session_id, "experiment_id": experiment_id}


def _page(
    operation: Operation[A],
    session_id: str,
    *,
    claim_id: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Request[A]:
    asked = query(claim_id=claim_id, cursor=cursor, limit=limit)
    return Request(operation, {"session_id": session_id}, asked)
