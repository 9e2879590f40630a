"""Synchronous calls, whoever sends their requests."""

import time
from collections.abc import Generator

from beliefd.client.method import Sender
from beliefd.client.operations import Operations
from beliefd.client.waiting import POLL_SECONDS, Entry, InboxLooks, pauses_until_decided, waits_within
from beliefd.protocol.approvals import ApprovalCard


class Calls(Operations, Sender):
    """Every operation as a method. Errors are raised as `BeliefdError`."""

    def wait_for(self, approval_id: str, *, timeout: float | None = None) -> ApprovalCard:
        """The item of the inbox once it is no longer pending; `TimeoutError` if `timeout` seconds pass."""
        pauses = pauses_until_decided(approval_id, timeout)
        while (card := self.show_approval(approval_id)).status == "pending":
            time.sleep(next(pauses))
        return card

    def wait_for_approval(self, approval_id: str, seconds: float) -> ApprovalCard:
        """The item of the inbox as soon as it is decided; after so many seconds, as it is then."""
        for wait in waits_within(seconds):
            if (card := self.show_approval(approval_id, wait=wait)).status != "pending":
                break
        return card

    def events(self, session_id: str, after: int | None = None) -> Generator[Entry, None, None]:
        """Entries past the one with seq `after` as they are recorded; it does not end by itself."""
        since = (
            self.query_belief(session_id, at=after, survivors_limit=0).audit_head_event_id if after else None
        )
        while True:
            page = self.audit_trace(session_id, since_event_id=since)
            for entry in page.events:
                since = entry["event_id"]
                yield entry
            if not page.events:
                time.sleep(POLL_SECONDS)

    def export_chunks(self, session_id: str) -> Generator[bytes, None, None]:
        """The ledger as JSON Lines, piece by piece: it may be longer than what fits into memory."""
        yield self.export(session_id)

    def follow_inbox(self, *, space: str | None = None) -> Generator[Entry, None, None]:
        """What changes in the inbox from now on, each with its `event`; it does not end by itself.

        An `event` is `approval.pending`, `approval.decided` or `approval.expired`.
        """
        looks = InboxLooks()
        while True:
            for name in looks.no_longer_pending(self._pending(space)):
                looks.tell(self.show_approval(name))
            yield from looks.news()
            time.sleep(POLL_SECONDS)

    def _pending(self, space: str | None) -> Generator[ApprovalCard, None, None]:
        cursor: str | None = None
        while True:
            page = self.list_approvals(cursor=cursor, space=space)
            yield from page.approvals
            if (cursor := page.next) is None:
                return
