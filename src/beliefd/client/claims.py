"""What agents say, and the gates it must pass."""

from collections.abc import Sequence
from typing import Unpack

import msgspec

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, Request, command, query
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.values import Object
from beliefd.protocol.claims import BundlePage, ClaimRows, JudgedBundle, RetractedClaims

Bundle = ClaimBundle | Object


class ClaimCalls:
    """What agents say, and the gates it must pass."""

    @Method
    def submit_claims(
        self, session_id: str, bundle: Bundle, **conditions: Unpack[Conditions]
    ) -> Request[JudgedBundle]:
        """Put a bundle of claims before the five gates."""
        body = msgspec.to_builtins(bundle)
        return command(ClaimRows.submit_claims, {"session_id": session_id}, body, **conditions)

    @Method
    def list_claims(
        self,
        session_id: str,
        *,
        at: int | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Request[BundlePage]:
        """One page of a session's bundles, now or right after event `at`."""
        asked = query(at=at, cursor=cursor, limit=limit)
        return Request(ClaimRows.list_claims, {"session_id": session_id}, asked)

    @Method
    def show_claims(self, session_id: str, bundle_id: str, *, at: int | None = None) -> Request[JudgedBundle]:
        """One bundle as it was last judged, by now or by event `at`."""
        path = {"session_id": session_id, "bundle_id": bundle_id}
        return Request(ClaimRows.show_claims, path, query(at=at))

    @Method
    def retract_claims(
        self,
        session_id: str,
        bundle_id: str,
        *,
        reason: str,
        claim_ids: Sequence[str] = (),
        **conditions: Unpack[Conditions],
    ) -> Request[RetractedClaims]:
        """Take back claims that were published; without `claim_ids`, all of the bundle that stand."""
        body = {"bundle_id": bundle_id, "reason": reason, "claim_ids": list(claim_ids)}
        return command(ClaimRows.retract_claims, {"session_id": session_id}, body, **conditions)

    @Method
    def check_claims(self, bundle: Bundle) -> Request[JudgedBundle]:
        """What the gates would say, without a record."""
        return Request(ClaimRows.check_claims, body=msgspec.to_builtins(bundle))
