"""A gateway from start to end: its upstreams, its clients, and what is left behind: nothing."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from mcp.server.lowlevel import Server
from msgspec import Struct

from beliefd.mcp.direct import Direct
from beliefd.mcp.gateway import Gateway
from beliefd.mcp.transports import Beside, Ended, ends_on_signal, log_to_stderr, over_http, over_streams


class Listening(Struct, frozen=True):
    """Where clients come over HTTP, and what they show: each of them a token of its own."""

    listener: socket.socket
    tokens: tuple[str, ...]
    started: Callable[[], None]


async def run_server(server: Server[Any], listening: Listening | None) -> None:
    """Serve until the client leaves, or until we are told to stop."""
    log_to_stderr()
    async with ends_on_signal():
        await _serve(server, listening, _nobody)


async def _serve(
    server: Server[Any], listening: Listening | None, ended: Ended, beside: Beside | None = None
) -> None:
    if listening is None:
        await over_streams(server, beside)
    else:
        await over_http(server, listening.listener, listening.tokens, listening.started, ended, beside)


async def _nobody(_: str) -> None:
    """Nothing is kept per session."""


async def run_gateway(gateway: Gateway, listening: Listening | None) -> None:
    """The same with upstreams, which are started before the first client and ended with the last."""
    log_to_stderr()
    idle = asyncio.create_task(gateway.forget_idle())
    async with ends_on_signal():
        try:
            await gateway.begin()
            await _serve(gateway.server, listening, gateway.forget, Direct(gateway))
        finally:
            idle.cancel()
            await whatever_comes(gateway.close())


async def whatever_comes(work: Coroutine[Any, Any, None]) -> None:
    """INVARIANT: children are ended also by a gateway that is told to stop while it is ending them."""
    task = asyncio.create_task(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})
