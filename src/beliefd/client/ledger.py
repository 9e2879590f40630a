"""Calls about the ledger: read it, verify it, ask it why, take it elsewhere."""

from collections.abc import Iterable

from beliefd.client.method import Method
from beliefd.client.requests import Request, query
from beliefd.protocol.beliefs import Eliminated
from beliefd.protocol.ledger import AuditPage, Counterfactual, Imported, LedgerRows, Verified, Why


class LedgerCalls:
    """What happened, why, and whether it can be believed."""

    @Method
    def audit_trace(
        self, session_id: str, *, since_event_id: str | None = None, limit: int | None = None
    ) -> Request[AuditPage]:
        """One page of the ledger."""
        asked = query(since_event_id=since_event_id, limit=limit)
        return Request(LedgerRows.audit_trace, {"session_id": session_id}, asked)

    @Method
    def verify(self, session_id: str) -> Request[Verified]:
        """Recompute the whole chain."""
        return Request(LedgerRows.verify, {"session_id": session_id})

    @Method
    def export(self, session_id: str) -> Request[bytes]:
        """The ledger as JSON Lines."""
        return Request(LedgerRows.export, {"session_id": session_id})

    @Method
    def why(self, session_id: str, hypothesis: str, *, cursor: str | None = None) -> Request[Why]:
        """Who spoke against a hypothesis, and what else was tried on it."""
        path = {"session_id": session_id, "hypothesis": hypothesis}
        return Request(LedgerRows.why, path, query(cursor=cursor))

    @Method
    def counterfactual(
        self,
        session_id: str,
        *,
        without_source_ids: Iterable[str] = (),
        without_principals: Iterable[str] = (),
        without_attested: bool = False,
        conclusions_after: str | None = None,
    ) -> Request[Counterfactual]:
        """What would survive had these sources and principals never spoken, or nothing attested counted."""
        without = {
            "source_ids": list(without_source_ids),
            "principals": list(without_principals),
            "attested": without_attested,
        }
        body = {"without": without, "conclusions_after": conclusions_after}
        return Request(LedgerRows.counterfactual, {"session_id": session_id}, body=body)

    @Method
    def merge(self, session_id: str, ledger: bytes, *, notes: str | None = None) -> Request[Eliminated]:
        """Take over the eliminations of a replica that was apart."""
        return Request(LedgerRows.merge, {"session_id": session_id}, body=ledger, notes=notes)

    @Method
    def import_ledger(
        self, ledger: bytes, *, source: str | None = None, space: str | None = None
    ) -> Request[Imported]:
        """Verify an exported ledger and take it in; `source` says where it came from, in your own words."""
        return Request(LedgerRows.import_ledger, query=query(source=source, space=space), body=ledger)
