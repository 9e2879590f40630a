"""Experiments, and the evidence that they leave."""

from typing import Unpack

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, PageOfClaim, Request, command, given, page_of
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


class ExperimentCalls:
    """Experiments, and the evidence that they leave."""

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
        return page_of(ExperimentRows.list_experiments, session_id, **asked)

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
        return page_of(ExperimentRows.list_evidence, session_id, **asked)

    @Method
    def list_discoveries(self, session_id: str) -> Request[Discoveries]:
        """Which of many tested claims can be believed together."""
        return Request(ExperimentRows.list_discoveries, {"session_id": session_id})


def _experiment(session_id: str, experiment_id: str) -> dict[str, str]:
    return {"session_id": session_id, "experiment_id": experiment_id}
