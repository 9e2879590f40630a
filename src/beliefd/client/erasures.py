"""Calls about what stands beside the ledger under a digest."""

from collections.abc import Sequence

from beliefd.client.method import Method
from beliefd.client.requests import Request, given, page_of
from beliefd.protocol.erasures import ErasureAnswer, ErasureRows, PartPage


class ErasureCalls:
    """What stands beside the ledger under a digest, and can be erased there."""

    @Method
    def erase(
        self,
        session_id: str,
        reason: str,
        *,
        digests: Sequence[str] | None = None,
        events: Sequence[str] | None = None,
        context: bool | None = None,
        notes: str | None = None,
    ) -> Request[ErasureAnswer]:
        """Erase content and withheld parts by digest, all that some events withhold, or all texts that the
        session was told. The ledger still verifies."""
        named = given(
            digests=None if digests is None else list(digests),
            events=None if events is None else list(events),
            context=context,
        )
        body = {"reason": reason, **named}
        return Request(ErasureRows.erase, {"session_id": session_id}, body=body, notes=notes)

    @Method
    def list_parts(
        self, session_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> Request[PartPage]:
        """What entries of a session withhold, with what it says as long as that is kept."""
        return page_of(ErasureRows.list_parts, session_id, cursor=cursor, limit=limit)
