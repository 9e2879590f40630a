"""HTTP/1.1 as uvicorn speaks it, with what a stranger can abuse taken care of.

What cannot be read as a request is answered in the one error shape, heads are bounded, a caller that falls
silent in the middle of a request is let go, and an answer leaves in one packet instead of two.
"""

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from beliefd.http.direct import MAX_BODY, Verb, Verbs
from beliefd.http.replies import Reply
from beliefd.kernel.errors import BeliefdError, Code, invalid

if TYPE_CHECKING:
    from beliefd.steward.write.turn import Outcome

MAX_HEAD: Final = 64 * 1024
"""Bytes of request line and headers that may follow those of the first packet."""
SILENCE_SECONDS: Final = 30.0
"""How long the next bytes of a request may take."""
CORK: Final = 64 * 1024


class Protocol(HttpToolsProtocol):
    """Hand it to uvicorn as `http=Protocol`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.wire = Corked(transport, self.loop)
        super().connection_made(self.wire)  # type: ignore[arg-type]
        self._verbs: Verbs | None = getattr(self.app, "verbs", None)
        self._verb: Verb | None = None
        self._body = b""
        self._in_head = False
        self._in_request = True  # the first one is due as soon as there is a connection
        self._head_size = 0
        self._idle = False
        self._heard = self.loop.time()
        self._watch = self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._heard, self._idle = self.loop.time(), False
        goes_on = self._in_head
        super().data_received(data)
        if goes_on and self._in_head:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD:
                self._refuse(431, BeliefdError(Code.PAYLOAD_TOO_LARGE, f"a head may hold {MAX_HEAD} bytes"))

    def on_message_begin(self) -> None:
        self._in_head, self._in_request, self._head_size = True, True, 0
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._verbs is not None and self._is_ordinary():
            self._verb = self._verbs.find(self.url)
        if self._verb is None:
            self._take_long_way()

    def on_body(self, body: bytes) -> None:
        if self._verb is None:
            super().on_body(body)
            return
        self._body += body
        if len(self._body) > MAX_BODY:
            self._leave_short_way()

    def on_message_complete(self) -> None:
        self._in_request = False
        if self._verb is not None:
            self._begin(self._verb)
        else:
            super().on_message_complete()

    # -- verbs on the short way ----------------------------------------------------------------------

    def _is_ordinary(self) -> bool:
        """A POST on a connection that stays, with nothing before it that is not answered and read."""
        return (
            self.parser.get_method() == b"POST"
            and (self.cycle is None or self.cycle.response_complete)
            and not (self.expect_100_continue or self.flow.write_paused or self.parser.should_upgrade())
            and self.parser.should_keep_alive()
            and self.parser.get_http_version() == "1.1"
        )

    def _take_long_way(self) -> None:
        """Only the application needs a scope: it is made here and not when a request begins."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers
        super().on_headers_complete()

    def _leave_short_way(self) -> None:
        """Let the application have the request, with as much of its body as has come."""
        self._verb, body, self._body = None, self._body, b""
        self._take_long_way()
        if body:
            super().on_body(body)

    def _begin(self, verb: Verb) -> None:
        assert self._verbs is not None  # noqa: S101 - that is where the verb comes from
        begun = self._verbs.begin(verb, self.headers, self._body)
        if begun is None:
            self._leave_short_way()
            super().on_message_complete()
            return
        self._verb, self._body = None, b""
        exchange = Exchange(self, self._verbs, verb)
        self.cycle = exchange  # type: ignore[assignment]
        if isinstance(begun, Reply):
            exchange.send(begun)
        else:
            begun.add_done_callback(exchange.answer)

    def answer(self, reply: Reply, keep_alive: bool) -> None:
        """Send an answer of the short way, and wait for the next request."""
        head = (
            _opening.of(reply.status_code, self.server_state.default_headers),
            reply.written_headers,
            b"\r\n" if keep_alive else b"connection: close\r\n\r\n",
        )
        self.wire.write_now(b"".join((*head, reply.body)))
        if not keep_alive:
            self.transport.close()
        if self.pipeline:
            self.on_response_complete()
            return
        # uvicorn would set a timer and cancel it for each request; one look now and then does as well.
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._heard, self._idle = self.loop.time(), True

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, invalid("this is not an HTTP/1.1 request"))

    def _refuse(self, status: int, error: BeliefdError) -> None:
        body = msgspec.json.encode(error.body)
        head = (
            f"HTTP/1.1 {status} Refused\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _look_later(self) -> asyncio.TimerHandle:
        return self.loop.call_later(min(SILENCE_SECONDS, self.timeout_keep_alive), self._look)

    def _look(self) -> None:
        """Close the connection if a request or the rest of one is due too long, and not because of us."""
        silent = self.loop.time() - self._heard
        waiting = self._in_request and not self.flow.read_paused
        if (waiting and silent >= SILENCE_SECONDS) or (self._idle and silent >= self.timeout_keep_alive):
            self.transport.close()
        else:
            self._watch = self._look_later()


class Exchange:
    """A verb under way. It stands where uvicorn keeps its own, and knows as much of it as uvicorn asks."""

    __slots__ = (
        "_protocol",
        "_started",
        "_verb",
        "_verbs",
        "disconnected",
        "keep_alive",
        "response_complete",
    )
    message_event: Final = asyncio.Event()
    """Set when the caller leaves; nobody here waits for it."""

    def __init__(self, protocol: Protocol, verbs: Verbs, verb: Verb) -> None:
        self._protocol = protocol
        self._verbs = verbs
        self._verb = verb
        self._started = time.perf_counter()
        self.disconnected = False
        self.keep_alive = True
        self.response_complete = False

    def answer(self, done: "asyncio.Future[Outcome]") -> None:
        self.send(self._verbs.reply(self._verb, done))

    def send(self, reply: Reply) -> None:
        self._verbs.count(self._verb, reply, self._started)
        self.response_complete = True
        if not self.disconnected:
            self._protocol.answer(reply, self.keep_alive)


class Opening:
    """The status line and the server's own headers, put together once for each date that they carry."""

    def __init__(self) -> None:
        self._headers: list[tuple[bytes, bytes]] = []
        self._made: dict[int, bytes] = {}

    def of(self, status: int, headers: list[tuple[bytes, bytes]]) -> bytes:
        if headers is not self._headers:
            self._headers, self._made = headers, {}
        made = self._made.get(status)
        if made is None:
            lines = [b"%s: %s\r\n" % header for header in headers]
            made = self._made[status] = b"".join((STATUS_LINE[status], *lines))
        return made


_opening: Final = Opening()


class Corked:
    """A transport that keeps what is written in one turn of the event loop and sends it together."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._kept: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not self._kept:
            self._loop.call_soon(self._flush)
        self._kept.append(data)
        self._size += len(data)
        if self._size > CORK:  # past this, the transport itself must see it to slow the writer down
            self._flush()

    def write_now(self, data: bytes) -> None:
        """The same for what is whole already: nothing more is to come that it could travel with."""
        if self._kept:
            self.write(data)
        elif not self._transport.is_closing():
            self._transport.write(data)

    def _flush(self) -> None:
        kept, self._kept, self._size = self._kept, [], 0
        if kept and not self._transport.is_closing():  # the other side may have left since
            self._transport.write(b"".join(kept))

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
