"""Calls of tools that come over HTTP and are answered beside the SDK: with one document where nothing is told
on the way, else with a stream of events.

The SDK's own answer is always a stream, with a handful of tasks for each.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import mcp_types as types
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from beliefd.mcp.answering import answered, call_of, failed
from beliefd.mcp.conversation import Conversation
from beliefd.mcp.frames import Called, Frame, cancelled_in, frame_in
from beliefd.mcp.gateway import Gateway

PATH: Final = "/mcp"
MOST_BYTES: Final = 4 * 1024 * 1024
"""More is for the SDK to refuse."""
SILENT_SECONDS: Final = 15.0
"""After so long without a word the stream is begun, and told on: what stands between may give up else."""
ENDED: Final = types.ErrorData(code=-32_800, message="Request cancelled")
"""The older revisions end a request over HTTP with an answer only."""
PING: Final = b": ping\r\n\r\n"
JSON: Final = b"application/json"
EVENTS: Final = b"text/event-stream"
_LOOPBACK: Final = re.compile(rb"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?")
Headers = Mapping[bytes, bytes]


class Posts:
    """Takes the calls of client sessions that have begun out of what goes to the SDK."""

    def __init__(self, app: ASGIApp, gateway: Gateway) -> None:
        self._app = app
        self._gateway = gateway

    async def end_session(self, session: str) -> None:
        """Have the SDK end a session, as if its client had."""
        headers = [(b"host", b"127.0.0.1:0"), (b"mcp-session-id", session.encode("latin-1"))]
        path = {"path": PATH, "raw_path": PATH.encode(), "root_path": "", "query_string": b""}
        scope = {"type": "http", "method": "DELETE", "headers": headers, **path}

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_: Message) -> None:
            """Nobody hears of it."""

        await self._app(scope, receive, send)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        talk = self._talk_of(scope)
        if talk is None:
            await self._app(scope, receive, send)
            return
        came, body = await _read(receive)
        frame = None if body is None else frame_in(body)
        called = None if frame is None else call_of(talk, frame)
        answer = _Answer(send, talk.session_name)
        if frame is not None and called is not None and not talk.must_be_heard():
            await self._answer(talk, frame, called, answer)
        elif frame is not None and (ended := cancelled_in(frame)) is not None and talk.cancel(ended):
            await answer.begin(202, JSON, b"0")
            await answer.body(b"")
        else:
            talk.heard()
            await self._app(scope, _again(came, receive), send)

    def _talk_of(self, scope: Scope) -> Conversation | None:
        """The client session, if the request is one that only its message can make us refuse."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != PATH:
            return None
        headers: Headers = dict(scope["headers"])
        accepted = headers.get(b"accept", b"").lower()
        revision = headers.get(b"mcp-protocol-version")
        if (
            b"origin" in headers
            or len(headers) != len(scope["headers"])
            or not _LOOPBACK.fullmatch(headers.get(b"host", b""))
            or headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != JSON
            or JSON not in accepted
            or EVENTS not in accepted
            or (revision is not None and revision.decode("latin-1") not in HANDSHAKE_PROTOCOL_VERSIONS)
        ):
            return None
        session = headers.get(b"mcp-session-id")
        return None if session is None else self._gateway.known(session.decode("latin-1"))

    async def _answer(self, talk: Conversation, frame: Frame, called: Called, answer: "_Answer") -> None:
        with answer:
            told = await answered(talk, self._gateway.server, frame, called, answer.tell)
        assert frame.id is not None  # noqa: S101 - it is a request
        await answer.end(told or failed(frame.id, ENDED))


class _Answer:
    """An answer of which it is not said yet whether it is a document or a stream."""

    def __init__(self, send: Send, session: str) -> None:
        self._send = send
        self._session = session.encode("latin-1")
        self._is_stream = False
        self._has_ended = False
        self._turn = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._ping: asyncio.Task[None] | None = None

    def __enter__(self) -> None:
        self._wait()

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(SILENT_SECONDS, self._say_something)

    def _say_something(self) -> None:
        self._ping = asyncio.ensure_future(self._tell(PING))
        self._wait()

    async def tell(self, message: bytes) -> None:
        await self._tell(_event(message))

    async def _tell(self, piece: bytes) -> None:
        async with self._turn:
            if self._has_ended:
                return  # what was said last came too late
            if not self._is_stream:
                await self.begin(200, EVENTS)
                self._is_stream = True
            await self.body(piece, more=True)

    async def end(self, message: bytes) -> None:
        async with self._turn:
            self._has_ended = True
            if self._is_stream:
                await self.body(_event(message))
            else:
                await self.begin(200, JSON, str(len(message)).encode())
                await self.body(message)

    async def begin(self, status: int, kind: bytes, length: bytes | None = None) -> None:
        headers = [(b"content-type", kind), (b"mcp-session-id", self._session)]
        if length is None:
            headers.append((b"cache-control", b"no-cache, no-transform"))
        else:
            headers.append((b"content-length", length))
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def body(self, piece: bytes, more: bool = False) -> None:
        await self._send({"type": "http.response.body", "body": piece, "more_body": more})


def _event(message: bytes) -> bytes:
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"


async def _read(receive: Receive) -> tuple[list[Message], bytes | None]:
    """What came, and the body that it is; None for one that is too long, or that does not come to its end."""
    came: list[Message] = []
    body = b""
    while True:
        message = await receive()
        came.append(message)
        if message["type"] != "http.request":
            return came, None
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            return came, None
        if not message.get("more_body", False):
            return came, body


def _again(came: list[Message], receive: Receive) -> Callable[[], Awaitable[Message]]:
    """What has been read already, and then what follows."""
    rest = iter(came)

    async def next_one() -> Message:
        message = next(rest, None)
        return await receive() if message is None else message

    return next_one
