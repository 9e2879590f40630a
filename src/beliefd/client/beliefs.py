"""Calls about sessions: declare, eliminate, conclude."""

from collections.abc import Iterable, Sequence
from typing import Unpack

import msgspec

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, Request, command, given, query
from beliefd.kernel.values import Object, OntologyBundle
from beliefd.protocol.beliefs import (
    BeliefRows,
    BeliefSnapshot,
    Concluded,
    Declared,
    Eliminated,
    Recorded,
    Ruled,
    SessionPage,
)

Ontology = OntologyBundle | dict[str, str]


class BeliefCalls:
    """Declare hypotheses, eliminate them, come to an end."""

    @Method
    def declare_session(
        self,
        hypotheses: Iterable[str],
        ontology: Ontology,
        *,
        options: Object | None = None,
        metadata: Object | None = None,
        space: str | None = None,
        idempotency_key: str | None = None,
        notes: str | None = None,
    ) -> Request[Declared]:
        """Open a session over a fixed set of hypotheses, in the default space or in another."""
        body: Object = {
            "hypotheses": list(hypotheses),
            "ontology": msgspec.to_builtins(ontology),
            "options": options or {},
            "metadata": metadata or {},
            **given(space=space),
        }
        return Request(BeliefRows.declare_session, body=body, key=idempotency_key, notes=notes)

    @Method
    def list_sessions(
        self, *, cursor: str | None = None, limit: int | None = None, space: str | None = None
    ) -> Request[SessionPage]:
        """One page of sessions, oldest first; of one space, if that is given."""
        return Request(BeliefRows.list_sessions, query=query(cursor=cursor, limit=limit, space=space))

    @Method
    def query_belief(
        self,
        session_id: str,
        *,
        at: int | None = None,
        survivors_limit: int | None = None,
        survivors_after: str | None = None,
        obligations_before: str | None = None,
        conclusions_after: str | None = None,
    ) -> Request[BeliefSnapshot]:
        """The state now, or right after event `at`."""
        asked = query(
            at=at,
            survivors_limit=survivors_limit,
            survivors_after=survivors_after,
            obligations_before=obligations_before,
            conclusions_after=conclusions_after,
        )
        return Request(BeliefRows.query_belief, {"session_id": session_id}, asked)

    @Method
    def eliminate(
        self,
        session_id: str,
        *,
        source_id: str,
        observation_id: str,
        eliminated: Iterable[str],
        justification: Object | None = None,
        cites: Iterable[Object] | None = None,
        **conditions: Unpack[Conditions],
    ) -> Request[Eliminated]:
        """Remove hypotheses that an observation contradicts; `cites` names what that rests on."""
        body: Object = {
            "source_id": source_id,
            "observation_id": observation_id,
            "eliminated": list(eliminated),
            "justification": justification or {},
        }
        if cites is not None:
            body["cites"] = list(cites)
        return command(BeliefRows.eliminate, {"session_id": session_id}, body, **conditions)

    @Method
    def enter_obligation(
        self,
        session_id: str,
        obligation_id: str,
        min_total_eliminations: int,
        **conditions: Unpack[Conditions],
    ) -> Request[Recorded]:
        """Promise eliminations before concluding."""
        body = {"obligation_id": obligation_id, "min_total_eliminations": min_total_eliminations}
        return command(BeliefRows.enter_obligation, {"session_id": session_id}, body, **conditions)

    @Method
    def request_exit(
        self,
        session_id: str,
        obligation_id: str,
        *,
        context: Object | None = None,
        **conditions: Unpack[Conditions],
    ) -> Request[Ruled]:
        """Ask to be released from an obligation."""
        path = {"session_id": session_id, "obligation_id": obligation_id}
        body = {"context": context or {}}
        return command(BeliefRows.request_exit, path, body, **conditions)

    @Method
    def declare_conclusion(
        self,
        session_id: str,
        conclusion_id: str,
        *,
        context: Object | None = None,
        **conditions: Unpack[Conditions],
    ) -> Request[Concluded]:
        """State what the session has come to."""
        body = {"conclusion_id": conclusion_id, "context": context or {}}
        return command(BeliefRows.declare_conclusion, {"session_id": session_id}, body, **conditions)

    @Method
    def request_termination(
        self, session_id: str, *, context: Object | None = None, **conditions: Unpack[Conditions]
    ) -> Request[Ruled]:
        """Ask to close the session for good."""
        body = {"context": context or {}}
        return command(BeliefRows.request_termination, {"session_id": session_id}, body, **conditions)

    @Method
    def batch(self, session_id: str, commands: Sequence[Object]) -> Request[list[Object]]:
        """Many verbs in one request; answers (or error shapes) come back in the same order."""
        lines = b"".join(msgspec.json.encode(command) + b"\n" for command in commands)
        return Request(BeliefRows.batch, {"session_id": session_id}, body=lines)
