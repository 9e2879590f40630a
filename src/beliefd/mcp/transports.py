"""How clients reach an MCP server of ours: over standard streams, or over HTTP on loopback with a token."""

import asyncio
import contextlib
import hmac
import json
import logging
import secrets
import signal
import socket
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import DEFAULT_SESSION_IDLE_TIMEOUT
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from beliefd.mcp.gateway import CALLER
from beliefd.mcp.posts import PATH
from beliefd.mcp.streams import standard_streams

log = logging.getLogger("beliefd.mcp")
Ended = Callable[[str], Awaitable[None]]
SESSION: Final = b"mcp-session-id"
MOST_SESSIONS: Final = 10_000
"""Of client sessions that have begun, so many are known. One that nobody used for longest is over then."""


class Beside(Protocol):
    """Answers some of the messages that come for the SDK, which must not end a session meanwhile."""

    idle_seconds: float

    def takes(self, line: bytes, pipe: asyncio.StreamWriter) -> bool: ...

    def before(self, app: ASGIApp) -> ASGIApp: ...


async def over_streams(server: Server[Any], beside: Beside | None = None) -> None:
    """Serve one client until it closes our input, or until we are told to stop."""
    async with standard_streams(None if beside is None else beside.takes) as (read, write):
        await server.run(read, write, server.create_initialization_options())


class Guard:
    """INVARIANT: no request without a token, none from a page in a browser on another origin, and none in a
    session that was begun with another token."""

    def __init__(self, app: ASGIApp, tokens: tuple[str, ...], ended: Ended) -> None:
        self._app = app
        self._tokens = tuple(token.encode() for token in tokens)
        self._ended = ended
        self._begun: OrderedDict[bytes, int] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        caller, session = self._caller(headers), headers.get(SESSION)
        if caller is None:
            await _refuse(send, 401, "a token is needed", (b"www-authenticate", b"Bearer"))
            return
        if session is not None and self._begun.get(session) != caller:
            await _refuse(send, 404, "there is no such session")
            return

        async def learning(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._learn(caller, [value for name, value in message["headers"] if name.lower() == SESSION])
            await send(message)

        await self._app({**scope, CALLER: caller}, receive, learning)
        if scope["method"] == "DELETE" and session is not None:
            self._begun.pop(session, None)
            await self._ended(session.decode("latin-1"))

    def _caller(self, headers: Mapping[bytes, bytes]) -> int | None:
        """Which of the tokens is shown. All are looked at: the time that it takes tells nothing."""
        given = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
        same = [hmac.compare_digest(given, token) for token in self._tokens]
        return same.index(True) if any(same) else None

    def _learn(self, caller: int, sessions: list[bytes]) -> None:
        for session in sessions:
            self._begun[session] = caller
            self._begun.move_to_end(session)
        while len(self._begun) > MOST_SESSIONS:
            self._begun.popitem(last=False)


async def _refuse(send: Send, status: int, words: str, *headers: tuple[bytes, bytes]) -> None:
    told = [*headers, (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": json.dumps({"error": words}).encode()})


def new_token() -> str:
    return secrets.token_urlsafe(32)


async def over_http(
    server: Server[Any],
    listener: socket.socket,
    tokens: tuple[str, ...],
    started: Callable[[], None],
    ended: Ended,
    beside: Beside | None = None,
) -> None:
    """Serve clients on the socket until told to stop."""
    import uvicorn

    idle = DEFAULT_SESSION_IDLE_TIMEOUT if beside is None else beside.idle_seconds
    theirs = server.streamable_http_app(
        streamable_http_path=PATH, host="127.0.0.1", session_idle_timeout=idle
    )
    app = Guard(theirs if beside is None else beside.before(theirs), tokens, ended)

    class Running(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started()

        @contextlib.contextmanager
        def capture_signals(self) -> Any:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self.handle_exit, number, None)
            yield

    config = uvicorn.Config(
        app, ws="none", access_log=False, log_level="error", server_header=False, timeout_graceful_shutdown=2
    )
    await Running(config).serve(sockets=[listener])


@contextlib.asynccontextmanager
async def ends_on_signal() -> AsyncIterator[None]:
    """What runs inside is cancelled by SIGTERM and SIGINT, so that it can tidy up: children must not stay."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - it is called in one
    told = []

    def stop(number: int) -> None:
        told.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    except asyncio.CancelledError:
        if not told:
            raise
        task.uncancel()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def log_to_stderr() -> None:
    """Standard output belongs to the protocol."""
    if log.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("beliefd: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.WARNING)
    log.propagate = False
