"""The asynchronous client over HTTP. Only who makes one pays for importing httpx."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx

from beliefd.client.asynchronous import AsyncCalls
from beliefd.client.requests import Request, is_answer
from beliefd.client.transport import Feed, HttpClient, InboxFeed, SessionFeed, Tries
from beliefd.client.waiting import Entry
from beliefd.protocol.operation import A


class AsyncClient(HttpClient[httpx.AsyncClient], AsyncCalls):
    """Talks to a beliefd server, as `Client` does, on an event loop."""

    _connections = httpx.AsyncClient

    async def _send(self, request: Request[A]) -> A:
        tries = Tries(request, self._url, self._retries)
        while True:
            try:
                status, content = await self._asked(tries)
            except httpx.HTTPError as error:
                pause = tries.pause_after_failure(error)
            else:
                if is_answer(status):
                    return tries.answer(status, content)
                pause = tries.pause_after_refusal(status, content)
            await asyncio.sleep(pause)

    async def _asked(self, tries: Tries[A]) -> tuple[int, bytes]:
        """One try: the status and the content of the answer."""
        response = await self._http.request(**tries.arguments)
        return response.status_code, response.content

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
                    if is_answer(response.status_code):
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
