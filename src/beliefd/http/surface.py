"""The operations over HTTP: take the transport off a request, have it performed, dress the answer."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import msgspec
from starlette.types import Receive, Scope, Send

from beliefd.http.bodies import read_body
from beliefd.http.errors import guarded, not_offered
from beliefd.http.guard import foreign_origin, principal_of
from beliefd.http.headers import Headers, expected_heads, is_known, read_headers
from beliefd.http.metrics import Metrics
from beliefd.http.replies import Answered, Reply, Stream
from beliefd.http.routing import Raw, Routes, decoded, parse_query
from beliefd.kernel.errors import invalid
from beliefd.protocol.beliefs import snapshot_in
from beliefd.protocol.operations import OPERATIONS, Operation
from beliefd.steward import queries, transfer
from beliefd.steward.batch import run_batch
from beliefd.steward.handle import Steward
from beliefd.steward.positions import session_not_found
from beliefd.steward.tokens import Authenticator
from beliefd.steward.usecases import Call, admit, authorise, perform

Chunks = AsyncGenerator[bytes, None]
_encode = msgspec.json.Encoder().encode


class Surface:
    """Every row of the operations table, answered by one steward."""

    def __init__(self, steward: Steward) -> None:
        self.steward = steward
        self.authenticator = Authenticator(steward.store)
        self.metrics = Metrics()
        self.routes = Routes(OPERATIONS)
        self._streams: dict[str, Callable[[Call, Headers], Awaitable[Stream]]] = {
            "batch": self._batch,
            "export": self._export,
            "events": self._events,
        }

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer the request if its path is in the table; False if it is not."""
        found = self.routes.find(scope["raw_path"])
        if found is None:
            return False
        offered, values = found
        started = time.perf_counter()
        method = scope["method"]
        operation = offered.get("GET" if method == "HEAD" else method)
        name = "none" if operation is None else operation.name
        answered: Answered
        if operation is None:
            answered = not_offered(method, offered)
        else:
            answered = await guarded(self._answered(operation, values, scope, receive))
        self.metrics.observe(name, answered.status_code, time.perf_counter() - started)
        await answered(scope, receive, send)
        return True

    async def _answered(self, operation: Operation, values: Raw, scope: Scope, receive: Receive) -> Answered:
        headers = read_headers(scope["headers"])
        origins = self.steward.policy.security.allowed_origins
        principal = await principal_of(headers, self.authenticator, origins)
        authorise(operation, principal)
        writes = operation.method != "GET"
        path = decoded(values)
        call = Call(
            principal=principal,
            path=path,
            query=parse_query(scope["query_string"]) if scope["query_string"] else {},
            body=await read_body(operation, headers, receive) if operation.takes_body else None,
            if_match=await self._expected_head(headers, path) if writes else None,
            key=headers.get("Idempotency-Key") if writes else None,
            origin=foreign_origin(headers),
        )
        stream = self._streams.get(operation.name)
        if stream is not None:
            return await stream(admit(operation, call), headers)
        return self.dressed(
            operation,
            await perform(self.steward, operation, call),
            None if writes else headers.get("If-None-Match"),
        )

    def dressed(self, operation: Operation, answer: object, held: str | None = None) -> Reply:
        """An answer as it travels; `held` are the versions that the caller has already."""
        etag = _etag(answer)
        if etag is None:
            return Reply(operation.status, _encode(answer))
        if held is not None and is_known(held, etag):
            return Reply(304, media=None, headers=[(b"etag", etag.encode())])
        return Reply(operation.status, _encode(answer), headers=[(b"etag", etag.encode())])

    async def _expected_head(self, headers: Headers, path: dict[str, str]) -> str | None:
        if_match = headers.get("If-Match")
        if if_match is None:
            return None
        heads = expected_heads(if_match)
        if len(heads) > 1 and "session_id" in path:
            # Heads never come back: of several, only the one that is the head now can still hold.
            head = await self.steward.store.head(path["session_id"])
            if head is not None and head.event_id in heads:
                return head.event_id
        return heads[0]

    async def _batch(self, call: Call, _: Headers) -> Stream:
        return await Stream.start(run_batch(self.steward, call), "application/x-ndjson")

    async def _export(self, call: Call, _: Headers) -> Stream:
        return await Stream.start(
            transfer.export(self.steward, call.session_id),
            "application/x-ndjson",
            [(b"content-disposition", b'attachment; filename="ledger.jsonl"')],
        )

    async def _events(self, call: Call, headers: Headers) -> Stream:
        head = await self.steward.store.head(call.session_id)
        if head is None:
            raise session_not_found(call.session_id)
        after = _last_event(headers.get("Last-Event-ID"), head.seq)
        return await Stream.start(
            self._feed(call.session_id, after),
            "text/event-stream",
            [(b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")],
        )

    async def _feed(self, session_id: str, after: int) -> Chunks:
        yield b": beliefd\n\n"
        async with aclosing(queries.feed(self.steward, session_id, after)) as chunks:
            async for chunk in chunks:
                if chunk is None:
                    yield b": still here\n\n"
                else:
                    yield b"".join(
                        [b"id: %d\nevent: audit\ndata: %s\n\n" % (entry.seq, entry.wire) for entry in chunk]
                    )


def _last_event(text: str | None, head: int) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= head):
        raise invalid(f"Last-Event-ID must be the `seq` of an entry, at most {head}", "Last-Event-ID")
    return int(text)


def _etag(answer: object) -> str | None:
    snapshot = snapshot_in(answer)
    return None if snapshot is None else f'"{snapshot.audit_head_event_id}"'
