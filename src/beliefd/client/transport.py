"""What both HTTP clients share: where the server is, when to try again, how to read the feed."""

import os
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

import httpx
import msgspec
from msgspec.structs import replace

from beliefd import tracing
from beliefd.client.requests import Request, error_from, no_server, query, read_answer
from beliefd.client.waiting import Entry, growing_pauses
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.protocol.approvals import ApprovalRows
from beliefd.protocol.ledger import LedgerRows
from beliefd.protocol.operation import A

H = TypeVar("H", httpx.Client, httpx.AsyncClient)
DEFAULT_URL: Final = "http://127.0.0.1:8642"
TIMEOUT_SECONDS: Final = 30.0
SILENCE_SECONDS: Final = 60.0
"""The server sends a sign of life into its feed four times as often."""
NOT_ANSWERED: Final = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ConnectTimeout)
TOO_MANY: Final = 429
PASSING: Final = (Code.STORAGE_UNAVAILABLE, Code.TOO_BUSY)
"""Failures of the server that may be over at the next try."""
DATA: Final = b"data: "
EVENT: Final = b"event: "


class HttpClient(Generic[H]):
    """Where the server is, and the connections to it."""

    _connections: Callable[..., H]

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = 0,
    ) -> None:
        self._url = (os.environ.get("BELIEFD_URL") or DEFAULT_URL) if url is None else url
        self._retries = retries
        self._http: H = self._connections(**_options(self._url, token, timeout))


def _options(url: str, token: str | None, timeout: float) -> dict[str, Any]:
    """What an HTTP client is made with."""
    token = os.environ.get("BELIEFD_TOKEN") if token is None else token
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        # A token is a secret: no error may repeat it, and httpx's would.
        raise invalid("a token is one line of plain letters and digits", "token")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise invalid(f"`{url}` is no address of a server: {error}", "url") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise invalid(f"`{url}` is no address of a server: it begins with http:// or https://", "url")
    # Loading certificates takes longer than most calls; without TLS there is nothing to check.
    return {"base_url": address, "headers": headers, "timeout": timeout, "verify": address.scheme == "https"}


def unreachable(url: str, error: Exception) -> BeliefdError:
    reason = str(error) or type(error).__name__
    return BeliefdError(
        Code.STORAGE_UNAVAILABLE, f"cannot reach `{url}`: {reason}; is `beliefd serve` running?"
    )


class Tries(Generic[A]):
    """The tries of one request: after each that failed, the seconds to wait for the next, or its error.

    INVARIANT: what writes is sent twice only under one Idempotency-Key.
    """

    def __init__(self, request: Request[A], url: str, retries: int) -> None:
        operation = request.operation
        if retries and operation.idempotency_key and request.key is None:
            request = replace(request, key=uuid.uuid4().hex)
        self.request = request
        self._url = url
        self._retries = retries if request.key is not None or not operation.writes else 0
        self._pauses = self._fresh_pauses()

    @property
    def arguments(self) -> dict[str, Any]:
        # An answer that is to wait is waited for.
        waits = int(self.request.query.get("wait", 0))
        return {
            "method": self.request.operation.method,
            "url": self.request.url,
            "params": self.request.query,
            "content": self.request.content,
            "headers": {**self.request.headers, **tracing.outgoing()},
            **({"timeout": waits + TIMEOUT_SECONDS} if waits else {}),
        }

    def answer(self, status: int, data: bytes) -> A:
        return read_answer(self.request.operation, self._url, status, data)

    def pause_after_failure(self, error: httpx.HTTPError) -> float:
        return self._next_pause(unreachable(self._url, error), isinstance(error, NOT_ANSWERED))

    def pause_after_refusal(self, status: int, data: bytes) -> float:
        error = error_from(status, data)
        return self._next_pause(error, status == TOO_MANY or error.code in PASSING)

    def _next_pause(self, error: BeliefdError, may_pass: bool) -> float:
        pause = next(self._pauses, None) if may_pass else None
        if pause is None:
            raise error
        return pause

    def _fresh_pauses(self) -> Iterator[float]:
        return (pause for pause, _ in zip(growing_pauses(), range(self._retries), strict=False))


class Feed(Tries[bytes]):
    """A live feed: how its lines become entries."""

    _rest = b""
    _event = ""

    @property
    def arguments(self) -> dict[str, Any]:
        self._rest = b""  # what a lost connection left unfinished counts for nothing
        return {**super().arguments, "timeout": SILENCE_SECONDS}

    def entries_in(self, chunk: bytes) -> Iterator[Entry]:
        """The entries that a chunk completes. Lines end at LF alone: agents' texts hold other separators."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(EVENT):
                self._event = line.removeprefix(EVENT).decode()
            elif line.startswith(DATA):
                self._pauses = self._fresh_pauses()
                yield self._told(line.removeprefix(DATA))

    def _told(self, data: bytes) -> Entry:
        try:
            return self._read(msgspec.json.decode(data, type=dict[str, Any]))
        except (msgspec.MsgspecError, KeyError) as error:
            raise no_server(self._url, f"its feed cannot be read ({error})") from None

    def _read(self, entry: Entry) -> Entry:
        return entry

    def pause_after_end(self) -> float:
        error = BeliefdError(Code.STORAGE_UNAVAILABLE, f"`{self._url}` has ended the feed")
        return self._next_pause(error, True)


class SessionFeed(Feed):
    """The live feed of a session, which goes on after the last entry that arrived."""

    def __init__(self, session_id: str, after: int | None, url: str, retries: int) -> None:
        super().__init__(Request(LedgerRows.events, {"session_id": session_id}), url, retries)
        self._last = after

    @property
    def arguments(self) -> dict[str, Any]:
        headers = {} if self._last is None else {"Last-Event-ID": str(self._last)}
        return {**super().arguments, "headers": headers}

    def _read(self, entry: Entry) -> Entry:
        self._last = entry["seq"]
        return entry


class InboxFeed(Feed):
    """The live feed of the inbox. It has no past: what happens between two connections is not told."""

    def __init__(self, space: str | None, url: str, retries: int) -> None:
        super().__init__(Request(ApprovalRows.follow_inbox, query=query(space=space)), url, retries)

    def _read(self, entry: Entry) -> Entry:
        return {"event": self._event, **entry}
