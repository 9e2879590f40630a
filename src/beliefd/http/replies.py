"""What is sent back: an answer in one piece, or a stream of chunks."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import lru_cache
from typing import Final

from msgspec import Struct
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

RawHeaders = list[tuple[bytes, bytes]]
NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")
"""Texts of agents may hold HTML; no browser may show an answer as a page."""


CUT: Final = "beliefd.cut"
"""In the scope of a request: ends its connection at once, so that nobody takes half an answer for all."""


class Reply(Struct, frozen=True):
    """An answer in one piece, usable wherever Starlette expects a response. No media type means no body."""

    status_code: int
    body: bytes = b""
    media: str | None = "application/json"
    headers: RawHeaders = []

    @property
    def raw_headers(self) -> RawHeaders:
        headers = [*self.headers, NO_SNIFFING]
        if self.media is not None:
            headers.append((b"content-type", self.media.encode()))
            headers.append((b"content-length", b"%d" % len(self.body)))
        return headers

    @property
    def written_headers(self) -> bytes:
        """The same, as HTTP/1.1 writes them."""
        lines: list[bytes] = []
        for name, value in self.headers:
            lines += (name, b": ", value, b"\r\n")
        lines.append(_written(self.media))
        if self.media is not None:
            lines.append(b"content-length: %d\r\n" % len(self.body))
        return b"".join(lines)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


@lru_cache(16)
def _written(media: str | None) -> bytes:
    """The header lines that all answers of one media type share."""
    fixed = b"%s: %s\r\n" % NO_SNIFFING
    return fixed if media is None else b"%scontent-type: %s\r\n" % (fixed, media.encode())


class Stream(Struct, frozen=True):
    """An answer in chunks. However it ends, `rest` is closed."""

    first: bytes
    rest: AsyncGenerator[bytes, None]
    media: str
    headers: RawHeaders
    status_code: int = 200

    @classmethod
    async def start(
        cls, chunks: AsyncGenerator[bytes, None], media: str, headers: RawHeaders | None = None
    ) -> "Stream":
        """Take the first chunk before answering, so that an error in it can still set the status."""
        return cls(await anext(chunks, b""), chunks, media, headers or [])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [*self.headers, NO_SNIFFING, (b"content-type", self.media.encode())]
        async with aclosing(self.rest):
            if scope["method"] == "HEAD":
                await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
                await send({"type": "http.response.body"})
                return
            response = StreamingResponse(self._chunks(), self.status_code)
            response.raw_headers = headers
            await response(scope, receive, send)

    async def _chunks(self) -> AsyncIterator[bytes]:
        yield self.first
        async for chunk in self.rest:
            yield chunk


Answered = Reply | Stream
