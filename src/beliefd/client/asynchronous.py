"""Asynchronous calls, and the HTTP client that makes them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx

from beliefd.client.method import AsyncSender
from beliefd.client.operations import Operations
from beliefd.client.requests import Request, decoded
from beliefd.client.transport import Feed, HttpClient, InboxFeed, SessionFeed, Tries
from beliefd.client.waiting import POLL_SECONDS, Entry, InboxLooks, pauses_until_decided, waits_within
from beliefd.protocol.approvals import ApprovalCard
from beliefd.protocol.operation import A


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


class AsyncClient(HttpClient[httpx.AsyncClient], AsyncCalls):
    """Talks to a beliefd server, as `Client` does, on an event loop."""

    _connections = httpx.AsyncClient

    async def _send(self, request: Request[A]) -> A:
        tries = Tries(request, self._url, self._retries)
        while True:
            try:
                response = await self._http.request(**tries.arguments)
            except httpx.HTTPError as error:
                pause = tries.pause_after_failure(error)
            else:
                if response.status_code < 400:
                    return decoded(request.operation, response.content)
                pause = tries.pause_after_refusal(response.status_code, response.content)
            await asyncio.sleep(pause)

    async def events(self, session_id: str, after: int | None = None) -> AsyncGenerator[Entry, None]:
        """Entries past the one with seq `after` as they are recorded; it does not end by itself."""
        async with aclosing(self._follow(SessionFeed(session_id, after, self._url, self._retries))) as coming:
            async for entry in coming:
                yield entry

    async def follow_inbox(self, *, space: str | None = None) -> AsyncGenerator[Entry, None]:
        """What changes in the inbox from now on, each with its `event`; it does not end by itself.

        An `event` is `approval.pending`, `approval.decided` or `approval.expired`.
        """
        async with aclosing(self._follow(InboxFeed(space, self._url, self._retries))) as coming:
            async for entry in coming:
                yield entry

    async def _follow(self, feed: Feed) -> AsyncGenerator[Entry, None]:
        while True:
            try:
                async with self._http.stream(**feed.arguments) as response:
                    if response.status_code < 400:
                        async for chunk in response.aiter_bytes():
                            for entry in feed.entries_in(chunk):
                                yield entry
                        pause = feed.pause_after_end()
                    else:
                        pause = feed.pause_after_refusal(response.status_code, await response.aread())
            except httpx.HTTPError as error:
                pause = feed.pause_after_failure(error)
            await asyncio.sleep(pause)

    async def close(self) -> None:
        await self._http.aclose()
