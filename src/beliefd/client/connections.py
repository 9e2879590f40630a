"""Requests over connections that are kept open, for callers who make the same few again and again.

A general client takes longer over such a request than its server does. Plain HTTP only: where there is TLS or
a proxy between, the general client is the one to use.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Final, cast
from urllib.parse import urlsplit

import httptools

IDLE_SECONDS: Final = 4.0
"""Servers close connections that nobody uses for some seconds; one that may be closing is not used again."""
CONNECT_SECONDS: Final = 30.0
MOST_IDLE: Final = 8
MOST_HEADERS: Final = 64 * 1024
STREAM: Final = b"text/event-stream"


class NotConnected(OSError):
    """There is nobody at the address: nothing was sent."""


class Broken(OSError):
    """The answer has not come, or not as a whole: what was sent may have arrived."""


class TooLong(Broken):
    """There is more of an answer than is taken in."""


class Answer(asyncio.Protocol):
    """One connection, and the answer that is coming on it. A stream is told piece by piece."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._transport: asyncio.Transport | None = None
        self._wanted: asyncio.Future[None] | None = None
        self._lost: Exception | None = None
        self.idle_since = 0.0
        self._fresh()

    def _fresh(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self._pieces: list[bytes] = []
        self._size = self._head_size = 0
        self.is_stream = self._has_begun = self.has_ended = self._is_kept = False

    @property
    def is_usable(self) -> bool:
        """Can another request be made on it?"""
        transport = self._transport
        if transport is None or transport.is_closing() or self._lost is not None:
            return False
        return time.monotonic() - self.idle_since < IDLE_SECONDS

    @property
    def can_be_kept(self) -> bool:
        return self.has_ended and self._is_kept and self._lost is None

    def send(self, request: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            raise Broken("the connection is closed")
        self._fresh()
        self._transport.write(request)

    async def begun(self) -> None:
        """Until all of the answer is there; of a stream, until it has begun."""
        while not (self.has_ended or (self._has_begun and self.is_stream)):
            await self._more()

    async def body(self) -> bytes:
        """All of it that is not read yet."""
        while not self.has_ended:
            await self._more()
        return self._taken()

    async def piece(self) -> bytes:
        """What has come of a stream since the last piece; nothing once it has ended."""
        while not (self._pieces or self.has_ended):
            await self._more()
        return self._taken()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _taken(self) -> bytes:
        found, self._pieces, self._size = b"".join(self._pieces), [], 0
        return found

    async def _more(self) -> None:
        if self._lost is not None:
            raise self._lost
        self._wanted = asyncio.get_running_loop().create_future()
        try:
            await self._wanted
        finally:
            self._wanted = None

    def _wake(self) -> None:
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(None)

    # -- what the transport tells --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self.has_ended:  # nobody has asked for more
            self._give_up(Broken("there is more than one answer"))
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            cause = error.__context__  # what one of the methods below has raised
            self._give_up(cause if isinstance(cause, Broken) else Broken(f"it does not speak HTTP: {error}"))
            return
        if self.has_ended or (self._has_begun and self.is_stream):
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._has_begun and not self.has_ended and self._ends_with_connection and exc is None:
            self.has_ended = True
        self._lost = self._lost or Broken(str(exc) if exc else "the connection was closed")
        self._wake()

    def _give_up(self, error: Broken) -> None:
        self._lost, self.has_ended = error, False
        self.close()
        self._wake()

    @property
    def _ends_with_connection(self) -> bool:
        return b"content-length" not in self.headers and b"transfer-encoding" not in self.headers

    # -- what the parser tells -------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self.has_ended:
            raise Broken("there is more than one answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        if self._head_size > MOST_HEADERS:
            raise TooLong(f"the head of the answer has more than {MOST_HEADERS} bytes")
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        if self.status < 200:
            self.headers.clear()
            return  # the answer is still to come
        self._has_begun = True
        self.is_stream = self.headers.get(b"content-type", b"").lower().startswith(STREAM)

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > self._most:
            raise TooLong(f"the answer has more than {self._most} bytes")
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        if self._has_begun:
            self.has_ended, self._is_kept = True, self._parser.should_keep_alive()


class Connections:
    """Connections to one server. Each has one request at a time."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, most: int = 1 << 62) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self.path = parts.path
        told = {"Host": parts.netloc.rpartition("@")[2], **(headers or {})}
        self._lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        self._most = most
        self._idle: list[Answer] = []
        self._closed = False

    async def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        """Make a request: the answer, once it has come, or once its stream has begun.

        INVARIANT: it is sent once. Whoever has read the answer hands it to `keep`, or closes it.
        """
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        head = f"{method} {target} HTTP/1.1\r\n{self._lines}{lines}{length}\r\n".encode("latin-1")
        answer = self._unused() or await self._opened()
        try:
            answer.send(head if body is None else head + body)
            await answer.begun()
        except BaseException:
            answer.close()
            raise
        return answer

    def keep(self, answer: Answer) -> None:
        """The answer was read; its connection serves for the next request, if it can."""
        if self._closed or not answer.can_be_kept or len(self._idle) >= MOST_IDLE:
            answer.close()
            return
        answer.idle_since = time.monotonic()
        self._idle.append(answer)

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _unused(self) -> Answer | None:
        """The one that was used last; those that nobody needed for a while are closed."""
        found = self._idle.pop() if self._idle else None
        if found is None or found.is_usable:
            return found
        for one in (found, *self._idle):
            one.close()
        self._idle.clear()
        return None

    async def _opened(self) -> Answer:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, answer = await loop.create_connection(lambda: Answer(self._most), self._host, self._port)
        except TimeoutError:
            raise NotConnected("nobody answers") from None
        except OSError as error:
            raise NotConnected(str(error)) from None
        return answer


def is_plain(url: str, headers: Mapping[str, str] | None = None) -> bool:
    """Is this an address, with headers, that requests can be made to as they are?"""
    try:
        parts = urlsplit(url)
        good = parts.scheme == "http" and bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        return False
    told = [url, *(headers or {}), *(headers or {}).values()]
    return good and not parts.query and all(one.isascii() and one.isprintable() for one in told)
