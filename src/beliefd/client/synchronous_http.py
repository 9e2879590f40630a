"""The synchronous client over HTTP. Only who makes one pays for importing httpx."""

import time
from collections.abc import Generator

import httpx

from beliefd.client.requests import Request, is_answer
from beliefd.client.synchronous import Calls
from beliefd.client.transport import Feed, HttpClient, InboxFeed, SessionFeed, Tries
from beliefd.client.waiting import Entry
from beliefd.protocol.ledger import LedgerRows
from beliefd.protocol.operation import A


class Client(HttpClient[httpx.Client], Calls):
    """Talks to a beliefd server: at `url` or `BELIEFD_URL`, with `token` or `BELIEFD_TOKEN`.

    What may pass (no connection, a store or a server that is overloaded) is tried `retries` times more.
    """

    _connections = httpx.Client

    def _send(self, request: Request[A]) -> A:
        tries = Tries(request, self._url, self._retries)
        while True:
            try:
                response = self._http.request(**tries.arguments)
            except httpx.HTTPError as error:
                pause = tries.pause_after_failure(error)
            else:
                if is_answer(response.status_code):
                    return tries.answer(response.status_code, response.content)
                pause = tries.pause_after_refusal(response.status_code, response.content)
            time.sleep(pause)

    def export_chunks(self, session_id: str) -> Generator[bytes, None, None]:
        """The ledger as JSON Lines, piece by piece: it may be longer than what fits into memory."""
        tries = Tries(Request(LedgerRows.export, {"session_id": session_id}), self._url, 0)
        try:
            with self._http.stream(**tries.arguments) as response:
                if not is_answer(response.status_code):
                    tries.pause_after_refusal(response.status_code, response.read())
                yield from response.iter_bytes()
        except httpx.HTTPError as error:
            tries.pause_after_failure(error)

    def events(self, session_id: str, after: int | None = None) -> Generator[Entry, None, None]:
        """Entries past the one with seq `after` as they are recorded; it does not end by itself."""
        yield from self._follow(SessionFeed(session_id, after, self._url, self._retries))

    def follow_inbox(self, *, space: str | None = None) -> Generator[Entry, None, None]:
        """What changes in the inbox from now on, each with its `event`; it does not end by itself.

        An `event` is `approval.pending`, `approval.decided` or `approval.expired`.
        """
        yield from self._follow(InboxFeed(space, self._url, self._retries))

    def _follow(self, feed: Feed) -> Generator[Entry, None, None]:
        while True:
            try:
                with self._http.stream(**feed.arguments) as response:
                    if is_answer(response.status_code):
                        for chunk in response.iter_bytes():
                            yield from feed.entries_in(chunk)
                        pause = feed.pause_after_end()
                    else:
                        pause = feed.pause_after_refusal(response.status_code, response.read())
            except httpx.HTTPError as error:
                pause = feed.pause_after_failure(error)
            time.sleep(pause)

    def close(self) -> None:
        self._http.close()
