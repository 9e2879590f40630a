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
"""Bytes that the request line and the headers may take together."""
SILENCE_SECONDS: Final = 30.0
"""How long the next bytes of a request may take."""
CORK: Final = 64 * 1024
HEAD_END: Final = b"\r\n\r\n"


class Protocol(HttpToolsProtocol):
    """Hand it to uvicorn as `http=Protocol`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Corked(transport, self.loop))  # type: ignore[arg-type]
        self._unread_head = True
        self._unread_request = True
        self._head_size = 0
        self._heard = self.loop.time()
        self._watch = self.loop.call_later(SILENCE_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._heard = self.loop.time()
        if self._unread_head:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD and self._is_too_long(data):
                self._refuse(431, BeliefdError(Code.PAYLOAD_TOO_LARGE, f"a head may hold {MAX_HEAD} bytes"))
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._unread_request = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._unread_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._unread_head, self._unread_request, self._head_size = True, False, 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, invalid("this is not an HTTP/1.1 request"))

    def _is_too_long(self, data: bytes) -> bool:
        end = data.find(HEAD_END)
        return end < 0 or self._head_size - len(data) + end > MAX_HEAD

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
        waiting = self._unread_request and not self.flow.read_paused
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
