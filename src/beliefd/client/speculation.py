"""Alternatives to a claim, in the lane where nothing counts."""

from collections.abc import Sequence
from typing import Unpack

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, PageOfClaim, Request, command, page_of
from beliefd.kernel.values import Object
from beliefd.protocol.speculation import HypothesisPage, SpeculationAnswer, SpeculationRows


class SpeculationCalls:
    """Alternatives to a claim, in the lane where nothing counts."""

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
        return page_of(SpeculationRows.list_hypotheses, session_id, **asked)
