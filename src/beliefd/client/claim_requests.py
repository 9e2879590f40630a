"""Requests about claims, approvals, grants and policy: one function an operation."""

from collections.abc import Sequence
from typing import Any

import msgspec

from beliefd.client.requests import Request, query, request
from beliefd.kernel.claims.bundle import Claim, ClaimBundle
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Object

Bundle = ClaimBundle | Object
Claims = Sequence[Claim | Object]


def submit_claims(session_id: str, bundle: Bundle, if_match: str | None, key: str | None) -> Request:
    return request("submit_claims", session_id, body=_plain(bundle), if_match=if_match, key=key)


def list_claims(session_id: str, cursor: str | None, limit: int | None) -> Request:
    return request("list_claims", session_id, query=query(cursor=cursor, limit=limit))


def show_claims(session_id: str, bundle_id: str) -> Request:
    return request("show_claims", session_id, path={"bundle_id": bundle_id})


def check_claims(bundle: Bundle) -> Request:
    return request("check_claims", body=_plain(bundle))


def list_approvals(status: str | None, cursor: str | None, limit: int | None) -> Request:
    return request("list_approvals", query=query(status=status, cursor=cursor, limit=limit))


def show_approval(approval_id: str) -> Request:
    return request("show_approval", path={"approval_id": approval_id})


def decide_approval(
    approval_id: str, word: dict[str, str], claims: Claims, if_match: str | None, key: str | None
) -> Request:
    body: Object = {**word, "claims": _plain(claims)}
    return request(
        "decide_approval", path={"approval_id": approval_id}, body=body, if_match=if_match, key=key
    )


def withdraw_approval(approval_id: str, reason: str, if_match: str | None, key: str | None) -> Request:
    return request(
        "withdraw_approval",
        path={"approval_id": approval_id},
        body={"reason": reason},
        if_match=if_match,
        key=key,
    )


def give_grant(
    session_id: str,
    principal: str,
    tiers: Sequence[str],
    expires_in_seconds: int,
    max_uses: int,
    if_match: str | None,
    key: str | None,
) -> Request:
    body = {
        "principal": principal,
        "tiers": list(tiers),
        "expires_in_seconds": expires_in_seconds,
        "max_uses": max_uses,
    }
    return request("give_grant", session_id, body=body, if_match=if_match, key=key)


def list_grants(session_id: str) -> Request:
    return request("list_grants", session_id)


def revoke_grant(session_id: str, grant_id: str) -> Request:
    return request("revoke_grant", session_id, path={"grant_id": grant_id})


def store_content(content: bytes) -> Request:
    return request("store_content", body=content)


def show_policy() -> Request:
    return request("show_policy")


def adopt_policy(policy: Policy) -> Request:
    return request("adopt_policy", body=_plain(policy))


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
