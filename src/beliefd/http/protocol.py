"""HTTP/1.1 as uvicorn speaks it, with what a stranger can abuse taken care of.

What cannot be read as a request is answered in the one error shape, heads are bounded, a caller that falls
silent in the middle of a request is let go, and an answer leaves in one packet instead of two.
"""

import asyncio
from typing import Any, Final

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from beliefd.kernel.errors import BeliefdError, Code, invalid

MAX_HEAD: Final = 64 * 1024
"""Bytes of request line and headers that may follow those of the first packet."""
SILENCE_SECONDS: Final = 30.0
"""How long the next bytes of a request may take."""
CORK: Final = 64 * 1024


class Protocol(HttpToolsProtocol):
    """Hand it to uvicorn as `http=Protocol`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Corked(transport, self.loop))  # type: ignore[arg-type]
        self._in_head = False
        self._in_request = True  # the first one is due as soon as there is a connection
        self._head_size = 0
        self._heard = self.loop.time()
        self._watch = self.loop.call_later(SILENCE_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._heard = self.loop.time()
        goes_on = self._in_head
        super().data_received(data)
        if goes_on and self._in_head:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD:
                self._refuse(431, BeliefdError(Code.PAYLOAD_TOO_LARGE, f"a head may hold {MAX_HEAD} bytes"))

    def on_message_begin(self) -> None:
        self._in_head, self._in_request, self._head_size = True, True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_request = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, invalid("this is not an HTTP/1.1 request"))

    def _refuse(self, status: int, error: BeliefdError) -> None:
        body = msgspec.json.encode(error.body)
        head = (
            f"HTTP/1.1 {status} Refused\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _look(self) -> None:
        """Close the connection if the rest of a request has been due for too long, and not because of us."""
        waiting = self._in_request and not self.flow.read_paused
        if waiting and self.loop.time() - self._heard >= SILENCE_SECONDS:
            self.transport.close()
        else:
            self._watch = self.loop.call_later(SILENCE_SECONDS, self._look)


class Corked:
    """A transport that keeps what is written in one turn of the event loop and sends it together."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._kept: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not self._kept:
            self._loop.call_soon(self._flush)
        self._kept.append(data)
        self._size += len(data)
        if self._size > CORK:  # past this, the transport itself must see it to slow the writer down
            self._flush()

    def _flush(self) -> None:
        kept, self._kept, self._size = self._kept, [], 0
        if kept and not self._transport.is_closing():  # the other side may have left since
            self._transport.write(b"".join(kept))

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
