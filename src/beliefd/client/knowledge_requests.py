"""Requests about propositions: one function an operation."""

from beliefd.client.requests import Request, query, request


def list_propositions(status: str | None, cursor: str | None, limit: int | None) -> Request:
    return request("list_propositions", query=query(status=status, cursor=cursor, limit=limit))


def show_proposition(claim_id: str) -> Request:
    return request("show_proposition", path={"claim_id": claim_id})


def why_proposition(claim_id: str) -> Request:
    return request("why_proposition", path={"claim_id": claim_id})
