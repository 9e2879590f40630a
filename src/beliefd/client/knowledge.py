"""What is believed, over all sessions."""

from beliefd.client.method import Method
from beliefd.client.requests import Request, query
from beliefd.protocol.knowledge import KnowledgeRows, PropositionPage, PropositionView, PropositionWhy


class KnowledgeCalls:
    """What is believed, over all sessions."""

    @Method
    def list_propositions(
        self,
        *,
        status: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        space: str | None = None,
    ) -> Request[PropositionPage]:
        """Propositions of all sessions with their epistemic status, by id."""
        asked = query(status=status, cursor=cursor, limit=limit, space=space)
        return Request(KnowledgeRows.list_propositions, query=asked)

    @Method
    def show_proposition(self, claim_id: str) -> Request[PropositionView]:
        """One proposition over all sessions, with its evidence and intents."""
        return Request(KnowledgeRows.show_proposition, {"claim_id": claim_id})

    @Method
    def why_proposition(self, claim_id: str, *, cursor: str | None = None) -> Request[PropositionWhy]:
        """The events that led to its status."""
        return Request(KnowledgeRows.why_proposition, {"claim_id": claim_id}, query(cursor=cursor))
