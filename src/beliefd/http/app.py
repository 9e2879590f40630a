"""The HTTP entrypoint: routes made from the operations table, nothing decided here (belief-server 3)."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from beliefd import __version__
from beliefd.http.errors import STATUS, error_response
from beliefd.http.guard import principal_of
from beliefd.http.metrics import Metrics
from beliefd.http.openapi import openapi_document
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import PROTOCOL
from beliefd.ledger.chain import LedgerBroken
from beliefd.protocol.answers import BeliefSnapshot, Health
from beliefd.protocol.operations import OPERATIONS, Operation
from beliefd.protocol.wire import parse_object
from beliefd.steward import queries, transfer
from beliefd.steward.batch import run_batch
from beliefd.steward.handle import Steward, ledger_broken
from beliefd.steward.positions import session_not_found
from beliefd.steward.tokens import Authenticator
from beliefd.steward.usecases import Call, admit, perform
from beliefd.stores.base import StorageUnavailable

log = logging.getLogger("beliefd.http")
_encode = msgspec.json.Encoder().encode

DRAIN_LIMIT: Final = 512 * 1024 * 1024
PARSE_IN_THREAD: Final = 256 * 1024
Endpoint = Callable[[Request], Awaitable[Response]]


class Surface:
    """The endpoints of one steward."""

    def __init__(self, steward: Steward) -> None:
        self.steward = steward
        self.authenticator = Authenticator(steward.store)
        self.metrics = Metrics()
        self._special: dict[str, Callable[[Request, Call], Awaitable[Response]]] = {
            "batch": self._batch,
            "export": self._export,
            "events": self._events,
        }

    def routes(self) -> list[Route]:
        made = [
            Route(_starlette_path(operation), self._endpoint(operation), methods=[operation.method])
            for operation in OPERATIONS
        ]
        return [
            *made,
            Route("/healthz", self._health, methods=["GET"]),
            Route("/readyz", self._ready, methods=["GET"]),
            Route("/metrics", self._metrics, methods=["GET"]),
            Route("/openapi.json", self._openapi, methods=["GET"]),
        ]

    def _endpoint(self, operation: Operation) -> Endpoint:
        answer = self._special.get(operation.name)
        respond = partial(self._respond, operation, answer)

        async def endpoint(request: Request) -> Response:
            started = time.perf_counter()
            response = await guarded(respond, request)
            self.metrics.observe(operation.name, response.status_code, time.perf_counter() - started)
            return response

        return endpoint

    async def _respond(
        self,
        operation: Operation,
        special: Callable[[Request, Call], Awaitable[Response]] | None,
        request: Request,
    ) -> Response:
        call = await self._call(operation, request)
        if special is not None:
            admit(operation, call)
            return await special(request, call)
        answer = await perform(self.steward, operation, call)
        headers = _etag(answer)
        if headers and request.method == "GET" and request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(_encode(answer), operation.status, headers, operation.media)

    async def _call(self, operation: Operation, request: Request) -> Call:
        principal = await principal_of(request, self.authenticator)
        body: Any = None
        if operation.method in ("POST", "PUT"):
            data = await _read(request, operation.max_body)
            if operation.body is None:
                body = data
            elif len(data) > PARSE_IN_THREAD:
                body = await asyncio.to_thread(parse_object, data)
            else:
                body = parse_object(data)
        if_match = request.headers.get("if-match")
        return Call(
            principal=principal,
            path=request.path_params,
            query=dict(request.query_params),
            body=body,
            if_match=None if if_match is None else if_match.strip().removeprefix("W/").strip('"'),
            key=request.headers.get("idempotency-key"),
        )

    async def _batch(self, _: Request, call: Call) -> Response:
        lines = run_batch(self.steward, call)
        return StreamingResponse(await _started(lines), media_type="application/x-ndjson")

    async def _export(self, _: Request, call: Call) -> Response:
        lines = transfer.export(self.steward, call.session_id)
        name = f"{call.session_id}.jsonl"
        return StreamingResponse(
            await _started(lines),
            media_type="application/x-ndjson",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    async def _events(self, request: Request, call: Call) -> Response:
        head = await self.steward.store.head(call.session_id)
        if head is None:
            raise session_not_found(call.session_id)
        last = request.headers.get("last-event-id")
        after = 0 if last is None else int(last)
        return StreamingResponse(
            self._feed(call.session_id, after),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    async def _feed(self, session_id: str, after: int) -> AsyncIterator[bytes]:
        yield b": beliefd\n\n"
        async for chunk in queries.feed(self.steward, session_id, after):
            if chunk is None:
                yield b": still here\n\n"
                continue
            for entry in chunk:
                yield b"id: %d\nevent: audit\ndata: %s\n\n" % (entry.seq, entry.wire)

    async def _health(self, _: Request) -> Response:
        return Response(
            _encode(Health(version=__version__, protocol=PROTOCOL)), media_type="application/json"
        )

    async def _ready(self, request: Request) -> Response:
        async def ready(_: Request) -> Response:
            await self.steward.store.ping()
            return await self._health(request)

        return await guarded(ready, request)

    async def _metrics(self, _: Request) -> Response:
        return Response(self.metrics.render(self.steward), media_type="text/plain; version=0.0.4")

    async def _openapi(self, _: Request) -> Response:
        return Response(_encode(openapi_document()), media_type="application/json")


async def guarded(respond: Endpoint, request: Request) -> Response:
    """INVARIANT: whatever happens inside, the caller sees one error shape and never a stack trace."""
    try:
        return await respond(request)
    except BeliefdError as error:
        return error_response(error)
    except StorageUnavailable as error:
        return error_response(BeliefdError(Code.STORAGE_UNAVAILABLE, str(error)))
    except LedgerBroken as error:
        return error_response(ledger_broken(error))
    except ClientDisconnect:
        return Response(status_code=499)
    except Exception:
        log.exception("defect while answering %s", request.method)
        return error_response(BeliefdError(Code.INTERNAL, "an unexpected error; it has been logged"))


def create_app(steward: Steward, *, close_steward: bool = True) -> Starlette:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        if close_steward:
            await steward.close()

    return Starlette(
        routes=Surface(steward).routes(),
        lifespan=lifespan,
        exception_handlers={HTTPException: _routing_error},
    )


async def _routing_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    code = Code.METHOD_NOT_ALLOWED if error.status_code == STATUS[Code.METHOD_NOT_ALLOWED] else Code.NOT_FOUND
    message = f"{request.method} is not offered here" if code is Code.METHOD_NOT_ALLOWED else "no such path"
    return error_response(BeliefdError(code, message), dict(error.headers or {}))


def _starlette_path(operation: Operation) -> str:
    # Ids may hold slashes; these two stand where only the rest of the path can follow.
    path = operation.path.replace("{hypothesis}", "{hypothesis:path}")
    return path.replace("{obligation_id}", "{obligation_id:path}")


def _etag(answer: Any) -> dict[str, str]:
    snapshot = answer if isinstance(answer, BeliefSnapshot) else getattr(answer, "snapshot", None)
    return {} if snapshot is None else {"ETag": f'"{snapshot.audit_head_event_id}"'}


async def _read(request: Request, limit: int) -> bytes:
    """The body, if it is not too large. The rest is read off and dropped, so that the answer arrives."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        elif size > DRAIN_LIMIT:
            break
        else:
            chunks.clear()
    if size > limit:
        raise BeliefdError(
            Code.PAYLOAD_TOO_LARGE, f"the body may hold {limit} bytes at most", {"limit": limit}
        )
    return b"".join(chunks)


async def _started(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Take the first line before answering, so that its error still has a status to travel in."""
    first = [line async for line in _first(lines)]

    async def rest() -> AsyncIterator[bytes]:
        for line in first:
            yield line
        async for line in lines:
            yield line

    return rest()


async def _first(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for line in lines:
        yield line
        return
