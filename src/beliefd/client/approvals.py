"""What waits for a person, what was decided, and consent given in advance."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

import msgspec

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, Request, command, given, query
from beliefd.kernel.claims.bundle import Claim
from beliefd.kernel.values import Object
from beliefd.protocol.approvals import ApprovalCard, ApprovalRows, DecidedApproval, GrantAnswer, Grants, Inbox

Claims = Sequence[Claim | Object]


class Narrowed(TypedDict, total=False):
    """By what a list of the inbox can be narrowed down."""

    tier: str | None
    agent: str | None
    session_id: str | None
    kind: str | None


class ApprovalCalls:
    """What waits for a person, what was decided, and consent given in advance."""

    @Method
    def list_approvals(
        self,
        *,
        status: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        space: str | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Request[Inbox]:
        """One page of the inbox; what is pending, unless `status` says otherwise.

        Narrowed down to a `tier`, to the `agent` who proposed it, to a session or to a `kind` of subject, a
        page may be shorter than its limit and still have a `next`.
        """
        asked = query(status=status, cursor=cursor, limit=limit, space=space, **narrowed)
        return Request(ApprovalRows.list_approvals, query=asked)

    @Method
    def show_approval(
        self, approval_id: str, *, at: int | None = None, wait: int | None = None
    ) -> Request[ApprovalCard]:
        """One item of the inbox, with all that is needed to decide; now, or right after event `at`.

        With `wait`, once it is decided, or after so many seconds as it is then.
        """
        return Request(ApprovalRows.show_approval, {"approval_id": approval_id}, query(at=at, wait=wait))

    @Method
    def decide_approval(
        self,
        approval_id: str,
        decision: str,
        *,
        content_hash: str,
        reason: str = "",
        claims: Claims = (),
        to_status: str | None = None,
        **conditions: Unpack[Conditions],
    ) -> Request[DecidedApproval]:
        """Approve, reject, edit or defer exactly what `content_hash` names."""
        body = {
            "decision": decision,
            "content_hash": content_hash,
            "reason": reason,
            "claims": msgspec.to_builtins(claims),
            **given(to_status=to_status),
        }
        path = {"approval_id": approval_id}
        return command(ApprovalRows.decide_approval, path, body, **conditions)

    @Method
    def withdraw_approval(
        self, approval_id: str, *, reason: str = "", **conditions: Unpack[Conditions]
    ) -> Request[ApprovalCard]:
        """Take back what one proposed."""
        path, body = {"approval_id": approval_id}, {"reason": reason}
        return command(ApprovalRows.withdraw_approval, path, body, **conditions)

    @Method
    def give_grant(
        self,
        session_id: str,
        *,
        principal: str,
        tiers: Sequence[str],
        expires_in_seconds: int,
        max_uses: int = 100,
        **conditions: Unpack[Conditions],
    ) -> Request[GrantAnswer]:
        """Consent in advance, up to MODIFY."""
        body = {
            "principal": principal,
            "tiers": list(tiers),
            "expires_in_seconds": expires_in_seconds,
            "max_uses": max_uses,
        }
        return command(ApprovalRows.give_grant, {"session_id": session_id}, body, **conditions)

    @Method
    def list_grants(self, session_id: str) -> Request[Grants]:
        """The standing grants of a session."""
        return Request(ApprovalRows.list_grants, {"session_id": session_id})

    @Method
    def revoke_grant(
        self, session_id: str, grant_id: str, **conditions: Unpack[Conditions]
    ) -> Request[GrantAnswer]:
        """End a standing grant at once."""
        path = {"session_id": session_id, "grant_id": grant_id}
        return command(ApprovalRows.revoke_grant, path, None, **conditions)
