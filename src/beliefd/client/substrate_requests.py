"""Requests about state, proposals, tools, capabilities and memory: one function an operation."""

from collections.abc import Sequence

from beliefd.client.requests import Request, query, request
from beliefd.kernel.values import Object


def show_state(session_id: str, at: str | None) -> Request:
    return request("show_state", session_id, query=query(at=at))


def propose(
    session_id: str,
    candidates: Sequence[Object],
    source: str,
    inputs: Sequence[str],
    state_snapshot_id: str | None,
    if_match: str | None,
    key: str | None,
) -> Request:
    body: Object = {
        "provenance": {"source": source, "inputs": list(inputs)},
        "candidates": list(candidates),
    }
    if state_snapshot_id is not None:
        body["state_snapshot_id"] = state_snapshot_id
    return request("propose", session_id, body=body, if_match=if_match, key=key)


def list_tools() -> Request:
    return request("list_tools")


def issue_capability(
    session_id: str,
    agent_id: str,
    scope: Object,
    expires_in_seconds: int,
    parent_token: str | None,
    signed: bool,
) -> Request:
    body: Object = {
        "session_id": session_id,
        "agent_id": agent_id,
        "scope": scope,
        "expires_in_seconds": expires_in_seconds,
    }
    if parent_token is not None:
        body["parent_token"] = parent_token
    if signed:
        body["signed"] = True
    return request("issue_capability", body=body)


def show_capability(session_id: str, capability_id: str) -> Request:
    return request("show_capability", session_id, path={"capability_id": capability_id.rpartition("/")[2]})


def revoke_capability(capability_id: str) -> Request:
    return request("revoke_capability", path={"capability_id": capability_id})


def remember(session_id: str, entry: Object, if_match: str | None, key: str | None) -> Request:
    return request("remember", session_id, body=entry, if_match=if_match, key=key)


def list_memory(session_id: str, show: str | None) -> Request:
    return request("list_memory", session_id, query=query(show=show))
