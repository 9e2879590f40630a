"""Reading bodies: bounded in size, and parsed off the event loop when they are large."""

import asyncio
from typing import Any, Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from beliefd.http.headers import Headers, check_content
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.protocol.operations import Operation
from beliefd.protocol.wire import parse_object

DRAIN_LIMIT: Final = 512 * 1024 * 1024
PARSE_IN_THREAD: Final = 256 * 1024


async def read_body(operation: Operation, headers: Headers, receive: Receive) -> Any:
    """The body in the form that the operation takes: a JSON object, or the bytes of its lines."""
    data = await _read(headers, receive, operation.max_body)
    if data:
        check_content(headers, operation.body_media)
    if operation.body is None:
        return data
    if len(data) > PARSE_IN_THREAD:
        return await asyncio.to_thread(parse_object, data)
    return parse_object(data)


async def _read(headers: Headers, receive: Receive, limit: int) -> bytes:
    """All bytes, if they are not too many. The rest is read and dropped, so that the answer arrives."""
    if "Expect" in headers and _announced(headers) > limit:
        raise _too_large(limit)  # the caller asks before it sends
    chunks: list[bytes] = []
    size, more = 0, True
    while more and size <= max(limit, DRAIN_LIMIT):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        else:
            chunks.clear()
    if size > limit:
        raise _too_large(limit)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _announced(headers: Headers) -> int:
    length = headers.get("Content-Length", "")
    return int(length) if length.isdigit() and len(length) < 20 else 0


def _too_large(limit: int) -> BeliefdError:
    return BeliefdError(
        Code.PAYLOAD_TOO_LARGE, f"the body may hold {limit} bytes at most", {"path": "$", "limit": limit}
    )
