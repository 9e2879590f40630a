"""The way between a server and its database, which can be cut, slow, silent, or closed on one side.

A small TCP relay in a thread of its own, on loopback.
"""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

CHUNK: Final = 1 << 16
LAG_SECONDS: Final = 0.05
FAULT_SECONDS: Final = 0.3


class _Line(Struct, frozen=True):
    """One connection: towards the server of beliefd, and towards the database."""

    near: asyncio.StreamWriter
    far: asyncio.StreamWriter


class Wire:
    """`with Wire(port) as wire`: what connects to `wire.port` is connected to `port`."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self._target = target
        self._lines: set[_Line] = set()
        self._lag = 0.0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "Wire":
        self._thread.start()
        self.port = self._do(self._listen()).result(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._drop()).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def url(self, store: str | None) -> str:
        """The same address, over this way."""
        assert store is not None
        parts = urlsplit(store)
        user = (parts.username or "") + "@" if parts.username else ""
        return urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{self.port}"))

    # -- faults -------------------------------------------------------------------------------------------

    async def cut(self, seconds: float = FAULT_SECONDS) -> None:
        """Both sides are told at once, and nobody gets through for a while."""
        await self._on(self._silent(True))
        await self._on(self._drop())
        await asyncio.sleep(seconds)
        await self._on(self._drop())
        await self._on(self._silent(False))

    async def delay(self, seconds: float = FAULT_SECONDS) -> None:
        """Everything arrives, late."""
        self._lag = LAG_SECONDS
        await asyncio.sleep(seconds)
        self._lag = 0.0

    async def black_hole(self, seconds: float = FAULT_SECONDS) -> None:
        """Nothing arrives, and nobody is told; what was on its way is lost with its connection."""
        await self._on(self._silent(True))
        await asyncio.sleep(seconds)
        await self._on(self._drop())
        await self._on(self._silent(False))

    async def close_answers(self, seconds: float = FAULT_SECONDS) -> None:
        """The database hears what it is asked, and does it; its answers end in the middle."""
        await self._on(self._end_answers())
        await asyncio.sleep(seconds)
        await self._on(self._drop())

    # -- in the thread -----------------------------------------------------------------------------------

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _on(self, work: Coroutine[Any, Any, Any]) -> None:
        await asyncio.wrap_future(self._do(work))

    async def _listen(self) -> int:
        self._passing = asyncio.Event()
        self._passing.set()
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _silent(self, silent: bool) -> None:
        (self._passing.clear if silent else self._passing.set)()

    async def _drop(self) -> None:
        for line in list(self._lines):
            line.near.transport.abort()
            line.far.transport.abort()

    async def _end_answers(self) -> None:
        for line in list(self._lines):
            with contextlib.suppress(OSError, RuntimeError):
                line.near.write_eof()

    async def _relay(self, near_in: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        try:
            far_in, far = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:  # the database is away: so is this
            near.transport.abort()
            return
        line = _Line(near, far)
        self._lines.add(line)
        try:
            await asyncio.gather(self._pump(near_in, far), self._pump(far_in, near))
        finally:
            self._lines.discard(line)
            near.transport.abort()
            far.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(CHUNK):
                await self._passing.wait()
                if self._lag:
                    await asyncio.sleep(self._lag)
                to.write(data)
                await to.drain()
        except (OSError, RuntimeError):
            return
        finally:  # also when one side broke off: a backend that is not told is there for good
            with contextlib.suppress(OSError, RuntimeError):
                to.write_eof()
