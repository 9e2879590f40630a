"""HTTP/1.1 as uvicorn speaks it, with bounds on what a stranger may send, and small verbs without ASGI.

What cannot be read as a request is answered in the one error shape, heads are bounded, a connection that
falls silent in the middle of a request is closed, and an answer is sent in one packet instead of two. uvicorn
offers none of this: the class uses its internals, which are listed in `INTERNALS` (docs/adr/0021).
"""

import asyncio
import time
from concurrent.futures import Future
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

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
"""Bytes that are kept to be sent together."""

INTERNALS: Final = (
    "app",
    "cycle.disconnected",
    "cycle.keep_alive",
    "cycle.message_event",
    "cycle.response_complete",
    "expect_100_continue",
    "flow.read_paused",
    "flow.resume_reading",
    "flow.write_paused",
    "headers",
    "loop",
    "on_response_complete",
    "parser.get_http_version",
    "parser.get_method",
    "parser.should_keep_alive",
    "parser.should_upgrade",
    "pipeline",
    "scope",
    "server_state.default_headers",
    "server_state.total_requests",
    "timeout_keep_alive",
    "transport",
    "url",
)
"""What `Protocol` and `Exchange` use of uvicorn's class besides the callbacks that they override."""


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
            self._pass_to_application()

    def on_body(self, body: bytes) -> None:
        if self._verb is None:
            super().on_body(body)
            return
        self._body += body
        if len(self._body) > MAX_BODY:
            self._pass_on_what_came()

    def on_message_complete(self) -> None:
        self._in_request = False
        if self._verb is not None:
            self._begin(self._verb)
        else:
            super().on_message_complete()

    # -- verbs that are answered directly ------------------------------------------------------------

    def _is_ordinary(self) -> bool:
        """A POST on a connection that stays open, with everything before it read and answered."""
        return (
            self.parser.get_method() == b"POST"
            and (self.cycle is None or self.cycle.response_complete)
            and not (self.expect_100_continue or self.flow.write_paused or self.parser.should_upgrade())
            and self.parser.should_keep_alive()
            and self.parser.get_http_version() == "1.1"
        )

    def _pass_to_application(self) -> None:
        """Only the application needs a scope: it is made here and not when a request begins."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers
        super().on_headers_complete()

    def _pass_on_what_came(self) -> None:
        """Pass the request to the application after all, with as much of its body as has come."""
        self._verb, body, self._body = None, self._body, b""
        self._pass_to_application()
        if body:
            super().on_body(body)

    def _begin(self, verb: Verb) -> None:
        assert self._verbs is not None  # noqa: S101 - that is where the verb comes from
        begun = self._verbs.begin(verb, self.headers, self._body)
        if begun is None:
            self._pass_on_what_came()
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
        """Send the answer to a verb, and wait for the next request."""
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
        # uvicorn sets and cancels a timer per request; one timer per connection, in `_look`, does as well.
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
        """Close the connection if a request, or the rest of one, did not come in time while we read."""
        silent = self.loop.time() - self._heard
        waiting = self._in_request and not self.flow.read_paused
        if (waiting and silent >= SILENCE_SECONDS) or (self._idle and silent >= self.timeout_keep_alive):
            self.transport.close()
        else:
            self._watch = self._look_later()


class Exchange:
    """A verb under way. It stands where uvicorn keeps its cycle, with the attributes that uvicorn reads."""

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
    """uvicorn sets it when the connection is lost; nothing here waits for it."""

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
    """The status line and the server's own headers, joined once per date that they carry."""

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
    """A transport that collects what is written in one turn of the event loop and sends it together."""

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
        """Write at once: the answer is complete, and nothing more follows that it could be sent with."""
        if self._kept:
            self.write(data)
        elif not self._transport.is_closing():
            self._transport.write(data)

    def _flush(self) -> None:
        kept, self._kept, self._size = self._kept, [], 0
        if kept and not self._transport.is_closing():  # the other side may have closed it since
            self._transport.write(b"".join(kept))

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def missing_internals() -> list[str]:
    """What uvicorn's class lacks of `INTERNALS`, seen on a request that is read and never answered."""
    timer = SimpleNamespace(cancel=lambda: None)
    loop: Any = SimpleNamespace(time=time.monotonic, call_later=lambda *_: timer, create_task=_discard)
    config = Config(_no_application, log_config=None, log_level="error", lifespan="off", ws="none")
    tried, failed = None, []
    try:
        tried = Protocol(config, ServerState(), {}, loop)
        tried.connection_made(asyncio.Transport())
        tried.data_received(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n")
    except Exception as error:
        failed = [f"{type(error).__name__} on a trial request"]
    return [name for name in INTERNALS if not _has(tried, name)] or failed


def _has(protocol: Protocol | None, name: str) -> bool:
    try:
        attrgetter(name)(protocol)
    except AttributeError:
        return False
    return True


def _discard(work: Any, **_: Any) -> "Future[None]":
    work.close()
    return Future()


async def _no_application(scope: Scope, receive: Receive, send: Send) -> None:
    """Never run: the trial request is not answered."""
