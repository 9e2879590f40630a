"""Requests about hypotheses, experiments, evidence and intents: one function an operation."""

from collections.abc import Sequence
from typing import Any

from beliefd.client.requests import Request, query, request
from beliefd.kernel.values import Object


def speculate(
    session_id: str, claim_id: str, hypotheses: Sequence[Object], if_match: str | None, key: str | None
) -> Request:
    body = {"claim_id": claim_id, "hypotheses": list(hypotheses)}
    return request("speculate", session_id, body=body, if_match=if_match, key=key)


def design_experiment(
    session_id: str, given: dict[str, Object | None], if_match: str | None, key: str | None
) -> Request:
    body = {name: value for name, value in given.items() if value is not None}
    return request("design_experiment", session_id, body=body, if_match=if_match, key=key)


def of_experiment(name: str, session_id: str, experiment_id: str) -> Request:
    """An operation on one experiment that takes nothing else."""
    body: Object | None = {} if name == "reproduce_experiment" else None
    return request(name, session_id, path={"experiment_id": experiment_id}, body=body)


def run_experiment(
    session_id: str, experiment_id: str, wait: bool, if_match: str | None, key: str | None
) -> Request:
    return request(
        "run_experiment",
        session_id,
        path={"experiment_id": experiment_id},
        body={"wait": wait},
        if_match=if_match,
        key=key,
    )


def link_evidence(
    session_id: str, claim_id: str, run_id: str, role: str, if_match: str | None, key: str | None
) -> Request:
    body = {"claim_id": claim_id, "run_id": run_id, "role": role}
    return request("link_evidence", session_id, body=body, if_match=if_match, key=key)


def list_discoveries(session_id: str) -> Request:
    return request("list_discoveries", session_id)


def stage_intent(session_id: str, change: dict[str, Any], if_match: str | None, key: str | None) -> Request:
    body = {name: value for name, value in change.items() if value is not None}
    return request("stage_intent", session_id, body=body, if_match=if_match, key=key)


def show_intent(session_id: str, intent_id: str) -> Request:
    return request("show_intent", session_id, path={"intent_id": intent_id})


def listing(
    name: str, session_id: str, claim_id: str | None, cursor: str | None, limit: int | None
) -> Request:
    """A page of hypotheses, experiments, evidence or intents."""
    return request(name, session_id, query=query(claim_id=claim_id, cursor=cursor, limit=limit))
