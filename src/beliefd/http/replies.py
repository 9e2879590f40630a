"""What is sent back: an answer in one piece, or a stream of chunks."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import lru_cache
from typing import Final

from msgspec import Struct
from starlette.types import Receive, Scope, Send

from beliefd.http.leaving import gone
from beliefd.kernel.errors import BeliefdError
from beliefd.steward.failures import translated

log = logging.getLogger("beliefd.http")

RawHeaders = list[tuple[bytes, bytes]]
NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")
"""Texts of agents may hold HTML; no browser may show an answer as a page."""


CUT: Final = "beliefd.cut"
"""In the scope of a request: ends its connection at once, so that nobody takes half an answer for all."""


KNOWN: Final = "beliefd.known"
"""In the scope of a request: says that it is of somebody with a credential."""


TAKEN: Final = "beliefd.taken"
"""In the scope of a request: waits until most of what was written has been taken."""


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


PIECE: Final = 64 * 1024


class Stream(Struct, frozen=True):
    """An answer in chunks. However it ends, `rest` is closed. When it is `over`, its connection is cut."""

    first: bytes
    rest: AsyncGenerator[bytes, None]
    media: str
    headers: RawHeaders
    over: asyncio.Event
    status_code: int = 200

    @classmethod
    async def start(
        cls, chunks: AsyncGenerator[bytes, None], media: str, headers: RawHeaders, over: asyncio.Event
    ) -> "Stream":
        """Take the first chunk before answering, so that an error in it can still set the status."""
        return cls(await anext(chunks, b""), chunks, media, headers, over)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [*self.headers, NO_SNIFFING, (b"content-type", self.media.encode())]
        async with aclosing(self.rest):
            if scope["method"] == "HEAD":
                await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
                await send({"type": "http.response.body"})
                return
            await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
            sending = asyncio.ensure_future(self._send(send))
            leaving = asyncio.ensure_future(gone(receive))
            judged = asyncio.ensure_future(self.over.wait())
            waited_for = (sending, leaving, judged)
            try:
                await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waited_for:
                    one.cancel()
                await asyncio.gather(*waited_for, return_exceptions=True)
            if _was_cut(sending) or (sending.cancelled() and self.over.is_set()):
                if CUT in scope:
                    scope[CUT]()
                    await gone(receive)
            elif not sending.cancelled():
                sending.result()

    async def _send(self, send: Send) -> None:
        await self._send_pieces(self.first, send)
        async for chunk in self.rest:
            await self._send_pieces(chunk, send)
        await send({"type": "http.response.body"})

    async def _send_pieces(self, chunk: bytes, send: Send) -> None:
        """INVARIANT: no more than one piece is written before the caller has taken those before it."""
        for start in range(0, len(chunk), PIECE):
            piece = chunk[start : start + PIECE]
            await send({"type": "http.response.body", "body": piece, "more_body": True})


def _was_cut(sending: "asyncio.Future[None]") -> bool:
    """Did the store fail when half of the answer was sent? That is no defect of ours, and has no trace."""
    failed = None if sending.cancelled() else sending.exception()
    if failed is None or not isinstance(told := translated(failed), BeliefdError):
        return False
    log.warning("an answer is cut off: %s", told)
    return True


Answered = Reply | Stream
