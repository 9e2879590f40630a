"""Which messages of clients are answered beside the SDK: calls of tools, and what ends them."""

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp

from beliefd.mcp.answering import answered, call_of
from beliefd.mcp.conversation import HEARD_SECONDS, Conversation
from beliefd.mcp.frames import Called, Frame, cancelled_in, frame_in, write_line
from beliefd.mcp.gateway import IDLE_SECONDS, Gateway
from beliefd.mcp.posts import Posts


class Direct:
    """Takes the calls of the client sessions that have begun out of what goes to the SDK."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._tasks: set[asyncio.Task[None]] = set()
        self.idle_seconds = IDLE_SECONDS + HEARD_SECONDS + gateway.config.limits.call_seconds

    def before(self, app: ASGIApp) -> ASGIApp:
        """What clients over HTTP come to first."""
        posts = Posts(app, self._gateway)
        self._gateway.end_session = posts.end_session
        return posts

    def takes(self, line: bytes, pipe: asyncio.StreamWriter) -> bool:
        """Is this message of the client on standard streams answered here?"""
        talk, frame = self._gateway.known(), frame_in(line)
        if talk is None or frame is None:
            return False
        if (ended := cancelled_in(frame)) is not None:
            return talk.cancel(ended)
        called = call_of(talk, frame)
        if called is None:
            return False
        task = asyncio.create_task(self._answer(talk, frame, called, pipe))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _answer(
        self, talk: Conversation, frame: Frame, called: Called, pipe: asyncio.StreamWriter
    ) -> None:
        async def send(message: bytes) -> None:
            write_line(pipe, message)
            await pipe.drain()

        with suppress(OSError):  # the client has gone
            answer = await answered(talk, self._gateway.server, frame, called, send)
            if answer is not None:
                await send(answer)
