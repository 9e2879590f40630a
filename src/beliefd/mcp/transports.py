"""How clients reach an MCP server of ours: over standard streams, or over HTTP on loopback with a token."""

import asyncio
import contextlib
import hmac
import logging
import secrets
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import DEFAULT_SESSION_IDLE_TIMEOUT
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from beliefd.mcp.posts import PATH
from beliefd.mcp.streams import standard_streams

log = logging.getLogger("beliefd.mcp")
Ended = Callable[[str], Awaitable[None]]


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
    """INVARIANT: no request without the token, and none from a page in a browser on another origin."""

    def __init__(self, app: ASGIApp, token: str, ended: Ended) -> None:
        self._app = app
        self._token = token.encode()
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        given = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
        if not hmac.compare_digest(given, self._token):
            await _refuse(send)
            return
        await self._app(scope, receive, send)
        session = headers.get(b"mcp-session-id")
        if scope["method"] == "DELETE" and session is not None:
            await self._ended(session.decode("latin-1"))


async def _refuse(send: Send) -> None:
    start: Message = {
        "type": "http.response.start",
        "status": 401,
        "headers": [(b"www-authenticate", b"Bearer"), (b"content-type", b"application/json")],
    }
    await send(start)
    await send({"type": "http.response.body", "body": b'{"error":"a token is needed"}'})


def new_token() -> str:
    return secrets.token_urlsafe(32)


async def over_http(
    server: Server[Any],
    listener: socket.socket,
    token: str,
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
    app = Guard(theirs if beside is None else beside.before(theirs), token, ended)

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
