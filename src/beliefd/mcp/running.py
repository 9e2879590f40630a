"""A gateway from start to end: its upstreams, its clients, and what is left behind: nothing."""

import asyncio
import socket
from collections.abc import Callable

from msgspec import Struct

from beliefd.mcp.gateway import Gateway
from beliefd.mcp.transports import ends_on_signal, log_to_stderr, over_http, over_streams


class Listening(Struct, frozen=True):
    """Where clients come over HTTP."""

    listener: socket.socket
    token: str
    started: Callable[[], None]


async def run_gateway(gateway: Gateway, listening: Listening | None) -> None:
    """Serve until the client leaves, or until we are told to stop."""
    log_to_stderr()
    try:
        await gateway.begin()
        if listening is None:
            async with ends_on_signal():
                await over_streams(gateway.server)
            return
        idle = asyncio.create_task(gateway.forget_idle())
        try:
            await over_http(
                gateway.server, listening.listener, listening.token, listening.started, gateway.forget
            )
        finally:
            idle.cancel()
    finally:
        await gateway.close()
