"""What agents say, and the gates it must pass."""

from typing import Unpack

import msgspec

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, Request, command, query
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.values import Object
from beliefd.protocol.claims import BundlePage, ClaimRows, JudgedBundle

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
        self, session_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> Request[BundlePage]:
        """One page of a session's bundles."""
        return Request(ClaimRows.list_claims, {"session_id": session_id}, query(cursor=cursor, limit=limit))

    @Method
    def show_claims(self, session_id: str, bundle_id: str) -> Request[JudgedBundle]:
        """One bundle as it was last judged."""
        return Request(ClaimRows.show_claims, {"session_id": session_id, "bundle_id": bundle_id})

    @Method
    def check_claims(self, bundle: Bundle) -> Request[JudgedBundle]:
        """What the gates would say, without a record."""
        return Request(ClaimRows.check_claims, body=msgspec.to_builtins(bundle))
