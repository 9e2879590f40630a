"""Synchronous calls, and the HTTP client that makes them."""

import time
from collections.abc import Generator

import httpx

from beliefd.client.method import Sender
from beliefd.client.operations import Operations
from beliefd.client.requests import Request, decoded
from beliefd.client.transport import Feed, HttpClient, InboxFeed, SessionFeed, Tries
from beliefd.client.waiting import POLL_SECONDS, Entry, InboxLooks, pauses_until_decided, waits_within
from beliefd.protocol.approvals import ApprovalCard
from beliefd.protocol.operation import A


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
                if response.status_code < 400:
                    return decoded(request.operation, response.content)
                pause = tries.pause_after_refusal(response.status_code, response.content)
            time.sleep(pause)

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
                    if response.status_code < 400:
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
