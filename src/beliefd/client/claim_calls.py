"""Synchronous calls about claims, approvals, grants and policy."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from beliefd.client import claim_requests as requests
from beliefd.client.claim_requests import Bundle, Claims
from beliefd.client.requests import Request
from beliefd.kernel.policy import Policy
from beliefd.protocol.claim_answers import (
    ApprovalCard,
    BundlePage,
    DecidedApproval,
    GrantAnswer,
    Grants,
    Inbox,
    JudgedBundle,
    PolicyAnswer,
    StoredContent,
)


class ClaimCalls(ABC):
    """The claim operations as methods."""

    @abstractmethod
    def _send(self, request: Request) -> Any:
        """Carry a request out and return its typed answer."""

    def submit_claims(
        self,
        session_id: str,
        bundle: Bundle,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> JudgedBundle:
        """Put a bundle of claims before the five gates."""
        answer: JudgedBundle = self._send(
            requests.submit_claims(session_id, bundle, if_match, idempotency_key)
        )
        return answer

    def list_claims(
        self, session_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> BundlePage:
        """One page of a session's bundles."""
        answer: BundlePage = self._send(requests.list_claims(session_id, cursor, limit))
        return answer

    def show_claims(self, session_id: str, bundle_id: str) -> JudgedBundle:
        """One bundle as it was last judged."""
        answer: JudgedBundle = self._send(requests.show_claims(session_id, bundle_id))
        return answer

    def check_claims(self, bundle: Bundle) -> JudgedBundle:
        """What the gates would say, without a record."""
        answer: JudgedBundle = self._send(requests.check_claims(bundle))
        return answer

    def list_approvals(
        self, *, status: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> Inbox:
        """One page of the inbox; what is pending, unless `status` says otherwise."""
        answer: Inbox = self._send(requests.list_approvals(status, cursor, limit))
        return answer

    def show_approval(self, approval_id: str) -> ApprovalCard:
        """One item of the inbox, with all that is needed to decide."""
        answer: ApprovalCard = self._send(requests.show_approval(approval_id))
        return answer

    def decide_approval(  # noqa: PLR0913 - each is a field of the body or a header
        self,
        approval_id: str,
        decision: str,
        *,
        content_hash: str,
        reason: str = "",
        claims: Claims = (),
        to_status: str | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> DecidedApproval:
        """Approve, reject, edit or defer exactly what `content_hash` names."""
        word = {"decision": decision, "content_hash": content_hash, "reason": reason}
        if to_status is not None:
            word["to_status"] = to_status
        answer: DecidedApproval = self._send(
            requests.decide_approval(approval_id, word, claims, if_match, idempotency_key)
        )
        return answer

    def withdraw_approval(
        self,
        approval_id: str,
        *,
        reason: str = "",
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> ApprovalCard:
        """Take back what one proposed."""
        answer: ApprovalCard = self._send(
            requests.withdraw_approval(approval_id, reason, if_match, idempotency_key)
        )
        return answer

    def give_grant(
        self,
        session_id: str,
        *,
        principal: str,
        tiers: Sequence[str],
        expires_in_seconds: int,
        max_uses: int = 100,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> GrantAnswer:
        """Consent in advance, up to MODIFY."""
        answer: GrantAnswer = self._send(
            requests.give_grant(
                session_id, principal, tiers, expires_in_seconds, max_uses, if_match, idempotency_key
            )
        )
        return answer

    def list_grants(self, session_id: str) -> Grants:
        """The standing grants of a session."""
        answer: Grants = self._send(requests.list_grants(session_id))
        return answer

    def revoke_grant(self, session_id: str, grant_id: str) -> GrantAnswer:
        """End a standing grant at once."""
        answer: GrantAnswer = self._send(requests.revoke_grant(session_id, grant_id))
        return answer

    def store_content(self, content: bytes) -> StoredContent:
        """Keep evidence content under its SHA-256."""
        answer: StoredContent = self._send(requests.store_content(content))
        return answer

    def show_policy(self) -> PolicyAnswer:
        """The policy in force and its hash."""
        answer: PolicyAnswer = self._send(requests.show_policy())
        return answer

    def adopt_policy(self, policy: Policy) -> PolicyAnswer:
        """Decide under another policy from now on."""
        answer: PolicyAnswer = self._send(requests.adopt_policy(policy))
        return answer
