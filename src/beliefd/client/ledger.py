"""Calls about the ledger: read it, verify it, ask it why, take it elsewhere."""

from collections.abc import Iterable

from beliefd.client.method import Method
from beliefd.client.requests import Request, query
from beliefd.protocol.beliefs import Eliminated
from beliefd.protocol.ledger import AuditFound, AuditPage, Counterfactual, Imported, LedgerRows, Verified, Why


class LedgerCalls:
    """What happened, why, and whether it can be believed."""

    @Method
    def audit_trace(
        self,
        session_id: str,
        *,
        since_event_id: str | None = None,
        limit: int | None = None,
        after: int | None = None,
    ) -> Request[AuditPage]:
        """One page of the ledger, past an event or past a `seq`."""
        asked = query(since_event_id=since_event_id, limit=limit, after=after)
        return Request(LedgerRows.audit_trace, {"session_id": session_id}, asked)

    @Method
    def search_audit(  # noqa: PLR0913 - one argument per parameter
        self,
        *,
        session: str | None = None,
        actor: str | None = None,
        tool: str | None = None,
        verb: str | None = None,
        text: str | None = None,
        since: str | None = None,
        until: str | None = None,
        space: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Request[AuditFound]:
        """Entries of all ledgers by who, by tool, by time and by words, a page at a time."""
        asked = query(
            session=session,
            actor=actor,
            tool=tool,
            verb=verb,
            text=text,
            since=since,
            until=until,
            space=space,
            cursor=cursor,
            limit=limit,
        )
        return Request(LedgerRows.search_audit, query=asked)

    @Method
    def verify(self, session_id: str) -> Request[Verified]:
        """Recompute the whole chain."""
        return Request(LedgerRows.verify, {"session_id": session_id})

    @Method
    def export(self, session_id: str, *, parts: bool = False) -> Request[bytes]:
        """The ledger as JSON Lines; with `parts`, with what its entries withhold, as far as that is kept."""
        return Request(LedgerRows.export, {"session_id": session_id}, query(parts="kept" if parts else None))

    @Method
    def why(
        self,
        session_id: str,
        hypothesis: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        source_id: str | None = None,
        principal: str | None = None,
    ) -> Request[Why]:
        """Who spoke against a hypothesis, and what else was tried on it; by all, or by one of them."""
        path = {"session_id": session_id, "hypothesis": hypothesis}
        asked = query(cursor=cursor, limit=limit, source_id=source_id, principal=principal)
        return Request(LedgerRows.why, path, asked)

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
