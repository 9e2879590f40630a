"""Does uvicorn have what our protocol class uses of it? Seen on a request that is read and never answered."""

import asyncio
import time
from concurrent.futures import Future
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, Final

from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from beliefd.http.protocol import Protocol

INTERNALS: Final = (
    "_unset_keepalive_if_required",
    "app",
    "cycle.disconnected",
    "cycle.keep_alive",
    "cycle.message_event",
    "cycle.response_complete",
    "cycle.response_started",
    "expect_100_continue",
    "flow.drain",
    "flow.read_paused",
    "flow.resume_reading",
    "flow.write_paused",
    "headers",
    "loop",
    "parser.get_http_version",
    "parser.get_method",
    "parser.should_keep_alive",
    "parser.should_upgrade",
    "pipeline.clear",
    "pipeline.popleft",
    "scope",
    "server_state.default_headers",
    "server_state.total_requests",
    "timeout_keep_alive",
    "transport",
    "url",
)
"""What `Protocol` and `Exchange` use of uvicorn's class besides the callbacks that they override."""
PASSED_ON: Final = (
    "connection_lost",
    "connection_made",
    "data_received",
    "on_body",
    "on_header",
    "on_headers_complete",
    "on_message_begin",
    "on_message_complete",
    "on_response_complete",
    "pause_writing",
    "resume_writing",
)
"""The callbacks that `Protocol` overrides and calls."""


def missing_internals() -> list[str]:
    """What uvicorn's class lacks of `INTERNALS`."""
    timer = SimpleNamespace(cancel=lambda: None)
    loop: Any = SimpleNamespace(time=time.monotonic, call_later=lambda *_: timer, create_task=_discard)
    config = Config(_no_application, log_config=None, log_level="error", lifespan="off", ws="none")
    tried, failed = None, []
    try:
        tried = Protocol(config, ServerState(), {}, loop)
        tried.connection_made(_Nowhere())
        tried.data_received(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n")
    except Exception as error:
        failed = [f"{type(error).__name__} on a trial request"]
    lost = [name for name in PASSED_ON if not hasattr(HttpToolsProtocol, name)]
    return lost + [name for name in INTERNALS if not _has(tried, name)] or failed


def _has(protocol: Protocol | None, name: str) -> bool:
    try:
        attrgetter(name)(protocol)
    except AttributeError:
        return False
    return True


class _Nowhere(asyncio.Transport):
    """A connection to nobody, which stays open."""

    def is_closing(self) -> bool:
        return False


def _discard(work: Any, **_: Any) -> "Future[None]":
    work.close()
    return Future()


async def _no_application(scope: Scope, receive: Receive, send: Send) -> None:
    """Never run: the trial request is not answered."""
