"""The operations over HTTP: a request becomes a call, and what comes of it an answer."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final, NoReturn

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from beliefd import tracing
from beliefd.http.bodies import read_body
from beliefd.http.draining import Draining
from beliefd.http.encoding import encode, encode_in_pieces, is_large
from beliefd.http.errors import answer_or_error, not_offered
from beliefd.http.guard import caller_of, foreign_origin, known_caller
from beliefd.http.headers import Headers, expected_heads, is_known, notes_in, read_headers
from beliefd.http.in_flight import Holding
from beliefd.http.leaving import unless_gone, unless_over
from beliefd.http.metrics import Metrics
from beliefd.http.replies import KNOWN, TAKEN, Answered, RawHeaders, Reply, Stream
from beliefd.http.routing import Raw, Routes, decoded, parse_query
from beliefd.http.standing import Judge, Standing
from beliefd.http.traces import traced
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Principal
from beliefd.protocol.approvals import WAIT
from beliefd.protocol.operation import Answer, File
from beliefd.protocol.operations import OPERATIONS, Operation
from beliefd.protocol.snapshots import snapshot_in
from beliefd.steward.bootstrap import Runtime
from beliefd.steward.call import Call, Caller
from beliefd.steward.dispatch import authorise, perform, stream
from beliefd.steward.offload import asking, in_pool
from beliefd.steward.tokens import Authenticator

UNKNOWN_MEDIA: Final = "application/octet-stream"
LARGE_ANSWER: Final = 128 * 1024
"""Bytes. What is larger counts as its caller's until it was taken."""


class Incoming(Struct, frozen=True):
    """A request as it comes: `under_way` is what has to be given back after the last byte of its answer."""

    scope: Scope
    receive: Receive
    holding: Holding
    under_way: ExitStack


class Surface:
    """Every row of the operations table, answered by one runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.submit = runtime.steward.submit
        self.in_force = runtime.steward.in_force
        self._store = runtime.steward.store
        self.authenticator = Authenticator(runtime.directory, runtime.sign_in)
        self.metrics = Metrics(runtime.buckets)
        self.routes = Routes(OPERATIONS)
        self.draining = Draining()
        self._standing = Standing(self.authenticator.refresh, runtime.feeds)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer the request if its path is in the table; False if it is not."""
        found = self.routes.find(scope["raw_path"])
        if found is None:
            return False
        offered, values = found
        method = scope["method"]
        operation = offered.get("GET" if method == "HEAD" else method)
        if tracing.tracer is None:
            await self._serve(operation, values, offered, (scope, receive, send))
            return True
        with traced(method, operation, scope["headers"]) as span:
            status = await self._serve(operation, values, offered, (scope, receive, send))
            span.set(http__response__status_code=status)
            if status >= 500:
                span.fail(str(status))
        return True

    async def _serve(
        self,
        operation: Operation | None,
        values: Raw,
        offered: Mapping[str, Operation],
        asgi: tuple[Scope, Receive, Send],
    ) -> int:
        scope, receive, send = asgi
        started = time.perf_counter()
        name = "none" if operation is None else operation.name
        answered: Answered
        with ExitStack() as under_way:
            if operation is None:
                answered = not_offered(scope["method"], offered)
            else:
                incoming = Incoming(scope, receive, Holding(self.metrics.in_flight), under_way)
                answered = await answer_or_error(self._answer(operation, values, incoming))
            self.metrics.observe(name, answered.status_code, time.perf_counter() - started)
            await answered(scope, receive, send)
            if isinstance(answered, Reply) and len(answered.body) > LARGE_ANSWER and TAKEN in scope:
                await scope[TAKEN]()
        return answered.status_code

    def count_request(self, principal: Principal) -> None:
        self.metrics.rates.count(principal.id, self.in_force.policy.bounds.requests_per_second)

    def observe(self, operation: str, status: int, seconds: float) -> None:
        """A request for a page was answered."""
        self.metrics.observe(operation, status, seconds)

    @contextmanager
    def request_of(self, scope: Scope, principal: Principal) -> Iterator[Callable[[int], None]]:
        """A request for a page: it counts, and has a place until it is answered.

        What comes is called with the number of bytes that the request holds, and refuses too many.
        """
        scope.get(KNOWN, _nobody_asks)()
        self.count_request(principal)
        holding = Holding(self.metrics.in_flight)
        holding.belongs_to(principal.id, self.in_force.policy.bounds.bytes_in_flight)
        with self.metrics.requests.of(principal.id), asking(principal.id):
            try:
                yield holding.up_to
            finally:
                holding.release()

    async def feed(
        self, scope: Scope, operation: Operation, call: Call, judge: Judge, under_way: ExitStack
    ) -> Stream:
        """An answer that lasts, to somebody whom no header names: `judge` says whether it is still them."""
        scope.get(KNOWN, _nobody_asks)()
        self.count_request(call.principal)
        under_way.enter_context(self.metrics.streams.of(call.principal.id))
        chunks = stream(self.runtime.handlers, operation, call)
        caller = Caller(call.principal, call.rights)
        over = under_way.enter_context(self._standing.of(judge, operation, caller))
        return await Stream.start(chunks, operation.media, stream_headers(operation), over)

    async def _answer(self, operation: Operation, values: Raw, incoming: Incoming) -> Answered:
        headers = read_headers(incoming.scope["headers"])
        caller = await self._caller(headers)
        incoming.scope.get(KNOWN, _nobody_asks)()
        principal = caller.principal
        self.count_request(principal)
        authorise(operation, principal)
        under_way = incoming.under_way
        places = self.metrics.streams if operation.stream else self.metrics.requests
        under_way.enter_context(places.of(principal.id))
        under_way.enter_context(asking(principal.id))
        under_way.callback(incoming.holding.release)
        incoming.holding.belongs_to(principal.id, self.in_force.policy.bounds.bytes_in_flight)
        call = await self._call(caller, headers, operation, values, incoming)
        caller = Caller(call.principal, call.rights)
        if operation.stream:
            over = under_way.enter_context(
                self._standing.of(partial(self._caller, headers), operation, caller)
            )
            if operation.writes:
                call = replace(call, judged=self._judged(headers, caller, over))
            chunks = stream(self.runtime.handlers, operation, call)
            return await Stream.start(chunks, operation.media, stream_headers(operation), over)
        work = perform(self.runtime.handlers, operation, call)
        if WAIT in operation.query and not operation.writes:
            over = under_way.enter_context(
                self._standing.of(partial(self._caller, headers), operation, caller)
            )
            work = unless_over(work, over, partial(self._refuse, operation, headers))
        # What may have been written is carried out to its end, whoever has left.
        answer = await (work if operation.writes else unless_gone(work, incoming.receive))
        held = headers.get("If-None-Match") if operation.method == "GET" else None
        if isinstance(answer, Answer) and is_large(answer):
            # What was written has to be told: one principal's share of this queue is never full.
            reply = await in_pool("fold", self.reply_of, operation, answer, held, encode_in_pieces)
        else:
            reply = self.reply_of(operation, answer, held)
        if len(reply.body) > LARGE_ANSWER and not operation.writes:
            # INVARIANT: what a caller asks for and does not take is bounded, as what it sends is.
            incoming.holding.up_to(incoming.holding.size + len(reply.body))
        return reply

    async def _call(
        self, caller: Caller, headers: Headers, operation: Operation, values: Raw, incoming: Incoming
    ) -> Call:
        writes = operation.method != "GET"
        path = decoded(values)
        query, holding = incoming.scope["query_string"], incoming.holding
        body = None
        if operation.takes_body:
            body = await read_body(operation, headers, incoming.receive, holding)
            # INVARIANT: a body may take as long as its caller likes: who asks is judged when it is there.
            caller = await self._caller(headers)
            authorise(operation, caller.principal)
        return Call(
            principal=caller.principal,
            rights=caller.rights,
            path=path,
            query=parse_query(query) if query else {},
            body=body,
            if_match=await self._expected_head(headers, path) if writes else None,
            key=headers.get("Idempotency-Key") if writes else None,
            notes=notes_in(headers) if writes else None,
            origin=foreign_origin(headers),
            last_event=headers.get("Last-Event-ID"),
            size=holding.size,
        )

    def _judged(self, headers: Headers, caller: Caller, over: asyncio.Event) -> Callable[[], None]:
        """Refuses once somebody may write no longer; nothing is looked up while nothing has changed."""
        last = self.authenticator.seen

        def judged() -> None:
            nonlocal last
            if (seen := self.authenticator.seen) is last and not over.is_set():
                return
            known = known_caller(headers, self.authenticator, self.in_force.policy.security.allowed_origins)
            if over.is_set() or known not in (None, caller):
                raise BeliefdError(Code.FORBIDDEN, "what you may do has changed meanwhile: ask again")
            last = seen

        return judged

    async def _refuse(self, operation: Operation, headers: Headers) -> NoReturn:
        """Why somebody who waits may wait no longer."""
        authorise(operation, (await self._caller(headers)).principal)
        raise BeliefdError(Code.FORBIDDEN, "what you may see has changed while you waited: ask again")

    async def caller_of(self, scope: Scope) -> Caller:
        return await self._caller(read_headers(scope["headers"]))

    async def _caller(self, headers: Headers) -> Caller:
        return await caller_of(headers, self.authenticator, self.in_force.policy.security.allowed_origins)

    def reply_of(
        self,
        operation: Operation,
        answer: object,
        held: str | None = None,
        encoded: Callable[[object], bytes] = encode,
    ) -> Reply:
        """An answer as it travels; `held` are the versions that the caller has already."""
        etag = _etag(answer)
        if etag is None:
            return Reply(operation.status, encoded(answer))
        if held is not None and is_known(held, etag):
            return Reply(304, media=None, headers=[(b"etag", etag.encode())])
        if isinstance(answer, File):
            return Reply(operation.status, answer.content, *file_headers(answer, etag))
        return Reply(operation.status, encoded(answer), headers=[(b"etag", etag.encode())])

    async def _expected_head(self, headers: Headers, path: dict[str, str]) -> str | None:
        if_match = headers.get("If-Match")
        if if_match is None:
            return None
        heads = expected_heads(if_match)
        if len(heads) > 1 and "session_id" in path:
            # Heads never come back: of several, only the one that is the head now can still hold.
            head = await self._store.head(path["session_id"])
            if head is not None and head.event_id in heads:
                return head.event_id
        return heads[0]


def _nobody_asks() -> None:
    """Another protocol class than ours has no seats."""


def stream_headers(operation: Operation) -> RawHeaders:
    """Nobody on the way keeps a feed or holds it back; lines that are read are a file, named by the tag."""
    if operation.media == "text/event-stream":
        return [(b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
    if operation.method != "GET":
        return []
    return [(b"content-disposition", b'attachment; filename="%s.jsonl"' % operation.tag.encode())]


def file_headers(file: File, etag: str) -> tuple[str, RawHeaders]:
    """INVARIANT: no browser shows somebody's bytes as a page, whatever they are."""
    media, ending = ("text/plain; charset=utf-8", b"txt") if file.is_text else (UNKNOWN_MEDIA, b"bin")
    return media, [
        (b"etag", etag.encode()),
        (b"content-disposition", b'attachment; filename="%s.%s"' % (file.name.encode(), ending)),
        (b"content-security-policy", b"sandbox; default-src 'none'"),
        (b"cache-control", b"private, no-cache"),
    ]


def _etag(answer: object) -> str | None:
    if isinstance(answer, File):
        return f'"{answer.name}"'
    snapshot = snapshot_in(answer)
    return None if snapshot is None else f'"{snapshot.audit_head_event_id}"'
