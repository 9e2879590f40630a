"""HTTP/1.1 as uvicorn speaks it, with bounds on what a stranger may send, and small verbs without ASGI.

What cannot be read as a request is answered in the one error shape, heads and trailers are bounded, requests
that wait for their turn are not read ahead without end, and a connection that is too slow in a request or in
taking its answer is closed. An answer is sent in one packet instead of two. uvicorn offers none of this: the
class uses its internals, which are listed in `fitting.INTERNALS` (docs/adr/0021).
"""

import asyncio
import re
from functools import partial
from typing import Any, Final

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from beliefd.http.direct import MAX_BODY, Verb, Verbs
from beliefd.http.errors import retry_headers
from beliefd.http.exchange import Exchange, opening
from beliefd.http.heads import Heads, KnownHead
from beliefd.http.replies import CUT, KNOWN, TAKEN, Reply
from beliefd.http.seats import seats_of
from beliefd.http.siblings import Siblings
from beliefd.http.wire import LEAST_RATE, Wire
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.protocol.statuses import STATUS
from beliefd.steward.offload import too_busy

MAX_HEAD: Final = 64 * 1024
"""Bytes of request line and headers, give or take a slice."""
MAX_TRAILERS: Final = 16 * 1024
"""Bytes after a body, or between two pieces of it, that say nothing of it: trailers, and words on chunks."""
MAX_DROPPED: Final = 1024 * 1024
"""Bytes that a refused caller may still send until the connection is closed without more ado."""
SLICE: Final = 16 * 1024
SMALL_SLICE: Final = 1024
"""So many bytes are read as HTTP before it is seen whether answers are due, if no end of a head is in them:
they may hold many requests, and a request that waits for its turn takes hundreds of times its bytes."""
END_OF_HEAD: Final = re.compile(rb"\n\r?\n")
LEAST_HEAD: Final = len(b"GET / HTTP/1.1")
SILENCE_SECONDS: Final = 30.0
"""How long the next bytes of a request may take, and how long a caller may take nothing of its answer."""
LAST_LOOK_SECONDS: Final = 0.05
HEAD_SECONDS: Final = 30.0
"""How long all bytes of a head may take together."""


class Protocol(HttpToolsProtocol):
    """Hand it to uvicorn as `http=Protocol`."""

    brought: bytes | None = None
    """What another process has read of a connection that it handed over."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.wire = Wire(transport, self.loop)
        super().connection_made(self.wire)  # type: ignore[arg-type]
        self._verbs: Verbs | None = getattr(self.app, "verbs", None)
        self._siblings: Siblings | None = getattr(self.app, "siblings", None)
        self._fresh = True
        self._verb: Verb | None = None
        self._body = b""
        self._heads = Heads()
        self._begun: Verb | None = None
        self._declined = False
        self._in_head = self._in_body = False
        self._in_request = True  # the first one is due as soon as there is a connection
        self._head_size = self._body_size = self._aside = self._dropped = self._length = 0
        self._held, self._read_to = b"", 0
        self._refusal: bytes | None = None
        self._refused = False
        self._idle = False
        self._heard = self._looked = self.loop.time()
        self._waited = 0.0
        self._watch = self._look_later()
        self._seats = seats_of(self.server_state)
        if not self._seats.take(self):
            self._refuse(too_busy(f"{self._seats.limit} connections are open, and all of them are busy"))
        if self.brought:
            self.data_received(self.brought)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        self._seats.leave(self)
        super().connection_lost(exc)
        self._let_go()

    def _let_go(self) -> None:
        """INVARIANT: a connection that is gone is freed at once. Its last request and what waits behind that
        lead back to it: together they would stay until they are collected, among what is there to stay."""
        self.cycle = self.scope = None  # type: ignore[assignment]
        self.pipeline.clear()
        self._heads.forget()
        self._held, self._refusal = b"", None
        self._unset_keepalive_if_required()  # uvicorn leaves it set where the caller was cut off

    def give_way(self) -> None:
        """Leave to somebody else: what is not taken by now would keep the connection open."""
        if self.wire.pending:
            self.transport.abort()
        else:
            self.transport.close()

    # -- reading ---------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._siblings is not None and self.rests:
            slot = self._siblings.belongs_to(data)
            if slot is not None and self.hand_over(slot, data):
                return
        self._receive(data)

    @property
    def rests(self) -> bool:
        """Is it between two requests, with everything answered and taken?"""
        return (
            (self._fresh or not self._in_request)
            and (self.cycle is None or self.cycle.response_complete)
            and not (self.pipeline or self._held or self._refused or self._refusal)
            and self.wire.is_empty
            and not self.transport.is_closing()
        )

    def hand_over(self, slot: int, data: bytes) -> bool:
        """Give the connection to another process, with what was read of its next request."""
        if self._siblings is None or not self.rests:
            return False
        self.wire.hold()  # what comes from now on is read by whoever gets it
        if not self._siblings.hand_over(slot, self.transport.get_extra_info("socket"), data):
            self.wire.release()
            return False
        self.transport.close()
        return True

    def _receive(self, data: bytes) -> None:
        self._fresh = False
        self._heard, self._idle = self.loop.time(), False
        if self._refused:
            self._drop(data)
        elif self._held:
            self._hold(self._held[self._read_to :] + data, 0)  # it was on its way when reading was paused
        else:
            self._feed(data, 0)

    def _feed(self, data: bytes, start: int) -> None:
        """Read requests as long as none waits for its turn; what follows one that does is held."""
        is_next = start == 0 and not self._in_request and self._verbs is not None
        if is_next and (known := self._heads.find(data)) is not None and self._begin_known(known, data):
            return
        self._begun = None
        while start < len(data):
            if self._is_behind():
                self._hold(data, start)
                return
            end = self._end_of_piece(data, start)
            self._take(data[start:end])
            start = end
            if self._refused or self._refusal is not None or self.transport.is_closing():
                return
        if is_next and self._begun is not None and not self._in_request:
            self._heads.learn(data, self._begun, self.headers)

    def _hold(self, data: bytes, start: int) -> None:
        self.wire.hold()
        if self._seats.hold(self, len(data)):
            self._held, self._read_to = data, start
        else:
            self._held = b""
            self._refuse(too_busy("too many requests wait for their turn, on all connections together"))

    def _end_of_piece(self, data: bytes, start: int) -> int:
        """Only what is known to be body is read in large pieces, and of several requests the first one."""
        if not self._in_body:
            return _end_of_first(data, start, start + SMALL_SLICE)
        if self._verb is not None:
            self._length = _content_length(self.headers)
        left = self._length - self._body_size
        return start + (min(left, SLICE) if left > 0 else SMALL_SLICE)

    def _is_behind(self) -> bool:
        """Is an answer due to an earlier request than the one that is being read, or not taken yet?"""
        if self.pipeline:
            return True
        between = self._in_head or not self._in_request
        if not between or self.cycle is None:
            return False
        return self.flow.write_paused or not self.cycle.response_complete

    def _take(self, data: bytes) -> None:
        in_head, body_size = self._in_head, self._body_size
        super().data_received(data)
        if in_head and self._in_head:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD:
                self._refuse(BeliefdError(Code.PAYLOAD_TOO_LARGE, f"a head may hold {MAX_HEAD} bytes"), 431)
        elif self._in_request and not self._in_head and self._body_size == body_size:
            self._aside += len(data)
            if self._aside > MAX_TRAILERS:
                told = f"trailers and words on chunks may hold {MAX_TRAILERS} bytes"
                self._refuse(BeliefdError(Code.PAYLOAD_TOO_LARGE, told), 431)

    def _go_on(self) -> None:
        """Read what was held, now that an answer has been given."""
        if self._held:
            self.loop.call_soon(self._feed_held)

    def _feed_held(self) -> None:
        if self.transport.is_closing() or self._is_behind():
            return
        held, self._held = self._held, b""
        self._seats.let_go(self)
        self._heard, self._idle = self.loop.time(), False
        self._feed(held, self._read_to)
        if not self._held:
            self.wire.release()

    def on_message_begin(self) -> None:
        self._in_head, self._in_request = True, True
        self._head_size = self._body_size = self._aside = self._length = 0
        self._waited, self._looked = 0.0, self._heard
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_header(self, name: bytes, value: bytes) -> None:
        # INVARIANT: trailers are no headers. They come after the body, and say nothing of who sent it.
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        self._waited, self._looked = 0.0, self._heard
        if self._verbs is not None and not self._declined and self._is_ordinary():
            self._verb = self._verbs.find(self.url)
        self._declined = False
        if self._verb is None:
            self._pass_to_application()

    def on_body(self, body: bytes) -> None:
        self._body_size += len(body)
        self._aside = 0
        if self._verb is None:
            super().on_body(body)
            return
        self._body += body
        if len(self._body) > MAX_BODY:
            self._pass_on_what_came()

    def on_message_complete(self) -> None:
        self._in_request = self._in_body = False
        if self._verb is not None:
            self._begin(self._verb)
        else:
            super().on_message_complete()

    # -- verbs that are answered directly --------------------------------------------------------------

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
        self._seats.work(self)
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers
        self._length = _content_length(headers)
        self.scope[CUT] = self.wire.abort  # type: ignore[typeddict-unknown-key]
        self.scope[TAKEN] = self.flow.drain  # type: ignore[typeddict-unknown-key]
        self.scope[KNOWN] = partial(self._seats.know, self)  # type: ignore[typeddict-unknown-key]
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
        self._begun = verb
        self._wait_for(verb, begun)

    def _begin_known(self, known: KnownHead, data: bytes) -> bool:
        """Begin a request with a head that was read before; False if it has to be read by the parser.

        Between two requests the parser waits for the next one, and does not miss those that it never saw.
        """
        if self._is_behind() or self.cycle is None or self._verbs is None:
            return False
        begun = self._verbs.begin(known.verb, known.headers, data[known.size :])
        if begun is None:
            self._declined = True  # by the verb: it is the application that reads this request
            return False
        self._unset_keepalive_if_required()
        self._wait_for(known.verb, begun)
        return True

    def _wait_for(self, verb: Verb, begun: "asyncio.Future[Any] | Reply") -> None:
        assert self._verbs is not None  # noqa: S101 - that is where the verb comes from
        self._seats.work(self, known=True)
        exchange = Exchange(self, self._verbs, verb)
        self.cycle = exchange  # type: ignore[assignment]
        if isinstance(begun, Reply):
            exchange.send(begun)
        else:
            begun.add_done_callback(exchange.answer)

    def answer(self, reply: Reply, keep_alive: bool) -> None:
        """Send the answer to a verb, and wait for the next request."""
        head = (
            opening.of(reply.status_code, self.server_state.default_headers),
            reply.written_headers,
            b"\r\n" if keep_alive else b"connection: close\r\n\r\n",
        )
        self.wire.write_now(b"".join((*head, reply.body)))
        if not keep_alive:
            self.transport.close()
        if self.pipeline or self._refusal is not None:
            self.on_response_complete()
            return
        # uvicorn sets and cancels a timer per request; one timer per connection, in `_look`, does as well.
        self.server_state.total_requests += 1
        self._seats.rest(self)
        self.flow.resume_reading()
        self._heard, self._idle = self.loop.time(), True
        self._go_on()

    def on_response_complete(self) -> None:
        if not self.pipeline:
            self._seats.rest(self)
            if self._refusal is not None:
                self._send_refusal(self._refusal)
                return
        super().on_response_complete()
        self._go_on()

    def pause_writing(self) -> None:
        self._seats.stall(self)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._seats.flow(self)
        if not self.pipeline and (self.cycle is None or self.cycle.response_complete):
            self._seats.rest(self)
        super().resume_writing()
        self._go_on()

    # -- refusing --------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        self._refuse(invalid("this is not an HTTP/1.1 request"), 400)

    def _refuse(self, error: BeliefdError, status: int | None = None) -> None:
        """Answer what cannot be read, after all that was asked before it, and read nothing more."""
        if self._refused or self._refusal is not None:
            return
        refusal = _refusal(error, status or STATUS[error.code])
        own = self._in_request and not self._in_head and self._verb is None and self.cycle is not None
        if self.pipeline:
            if own:
                self.pipeline.popleft()  # it waits for its turn, and has none any more
            self._refusal = refusal
        elif own or self.cycle is None or self.cycle.response_complete:
            self._send_refusal(refusal)
        else:
            self._refusal = refusal

    def _send_refusal(self, refusal: bytes) -> None:
        under_way = self.cycle is not None and not self.cycle.response_complete
        self._refused = True
        self._held, self._body, self._verb = b"", b"", None
        if under_way and self.cycle.response_started:
            self.transport.close()  # half an answer cannot become another one
            return
        self.transport.write(refusal)
        self.wire.end()
        self.wire.release()
        if under_way:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _drop(self, data: bytes) -> None:
        """A connection that is closed with bytes unread is reset, and the refusal is lost with it."""
        self._dropped += len(data)
        if self._dropped > MAX_DROPPED:
            self.transport.abort()

    # -- waiting ---------------------------------------------------------------------------------------

    def _look_later(self) -> asyncio.TimerHandle:
        return self.loop.call_later(min(SILENCE_SECONDS, self.timeout_keep_alive), self._look)

    def _look(self) -> None:
        """Close the connection if its caller is too slow; if even that is not heard, cut it."""
        now = self.loop.time()
        if self.wire.is_stuck(now, SILENCE_SECONDS):
            self.transport.abort()
        elif self._idle and not self._refused and self._is_slow(now):
            # Where this process was kept from running, a request may be here that nobody has read yet.
            self.loop.call_later(LAST_LOOK_SECONDS, self._close_unless_heard, self._heard)
        elif self._refused or self._is_slow(now):
            self.transport.close()
        self._looked = now
        self._watch = self._look_later()

    def _close_unless_heard(self, heard: float) -> None:
        if self._heard == heard and self._idle:
            self.transport.close()

    def _is_slow(self, now: float) -> bool:
        """Did a request, or enough of the rest of one, not come in time while we read?"""
        silent = now - self._heard
        if self._idle:
            return silent >= self.timeout_keep_alive
        if not self._in_request or self.flow.read_paused or self.wire.held:
            return False
        self._waited += now - self._looked
        allowed = HEAD_SECONDS if self._in_head else SILENCE_SECONDS + self._body_size / LEAST_RATE
        return silent >= SILENCE_SECONDS or self._waited >= allowed


def _content_length(headers: list[tuple[bytes, bytes]]) -> int:
    return next((int(value) for name, value in headers if name == b"content-length"), 0)


def _end_of_first(data: bytes, start: int, end: int) -> int:
    """Where the first of several heads ends, or `end` if there is one at most."""
    first = END_OF_HEAD.search(data, start + LEAST_HEAD, end)
    if first is None or END_OF_HEAD.search(data, first.end(), end) is None:
        return end
    return first.end()


def _refusal(error: BeliefdError, status: int) -> bytes:
    body = msgspec.json.encode(error.body)
    lines = [
        b"HTTP/1.1 %d Refused" % status,
        b"content-type: application/json",
        b"content-length: %d" % len(body),
        b"connection: close",
        *(b"%s: %s" % header for header in retry_headers(error)),
    ]
    return b"\r\n".join((*lines, b"", body))
