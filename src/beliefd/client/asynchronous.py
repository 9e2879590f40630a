"""Asynchronous calls, whoever sends their requests."""

import asyncio
from collections.abc import AsyncGenerator

from beliefd.client.method import AsyncSender
from beliefd.client.operations import Operations
from beliefd.client.waiting import POLL_SECONDS, Entry, InboxLooks, pauses_until_decided, waits_within
from beliefd.protocol.approvals import ApprovalCard


class AsyncCalls(Operations, AsyncSender):
    """Every operation as a method. Errors are raised as `BeliefdError`."""

    async def wait_for(self, approval_id: str, *, timeout: float | None = None) -> ApprovalCard:  # noqa: ASYNC109 - the same name as in `Calls`
        """The item of the inbox once it is no longer pending; `TimeoutError` if `timeout` seconds pass."""
        pauses = pauses_until_decided(approval_id, timeout)
        while (card := await self.show_approval(approval_id)).status == "pending":  # noqa: ASYNC110 - it is elsewhere
            await asyncio.sleep(next(pauses))
        return card

    async def wait_for_approval(self, approval_id: str, seconds: float) -> ApprovalCard:
        """The item of the inbox as soon as it is decided; after so many seconds, as it is then."""
        for wait in waits_within(seconds):
            if (card := await self.show_approval(approval_id, wait=wait)).status != "pending":
                break
        return card

    async def events(self, session_id: str, after: int | None = None) -> AsyncGenerator[Entry, None]:
        """Entries past the one with seq `after` as they are recorded; it does not end by itself."""
        since = None
        if after:
            since = (await self.query_belief(session_id, at=after, survivors_limit=0)).audit_head_event_id
        while True:
            page = await self.audit_trace(session_id, since_event_id=since)
            for entry in page.events:
                since = entry["event_id"]
                yield entry
            if not page.events:
                await asyncio.sleep(POLL_SECONDS)

    async def follow_inbox(self, *, space: str | None = None) -> AsyncGenerator[Entry, None]:
        """What changes in the inbox from now on, each with its `event`; it does not end by itself.

        An `event` is `approval.pending`, `approval.decided` or `approval.expired`.
        """
        looks = InboxLooks()
        while True:
            for name in looks.no_longer_pending([one async for one in self._pending(space)]):
                looks.tell(await self.show_approval(name))
            for told in looks.news():
                yield told
            await asyncio.sleep(POLL_SECONDS)

    async def _pending(self, space: str | None) -> AsyncGenerator[ApprovalCard, None]:
        cursor: str | None = None
        while True:
            page = await self.list_approvals(cursor=cursor, space=space)
            for card in page.approvals:
                yield card
            if (cursor := page.next) is None:
                return
