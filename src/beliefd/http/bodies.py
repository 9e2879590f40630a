"""Reading bodies: bounded in size, alone and together, and parsed beside the event loop if they are large."""

from typing import Any, Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from beliefd.http.headers import Headers, check_content
from beliefd.http.heap import return_small_pieces
from beliefd.http.in_flight import Holding
from beliefd.http.turns import turn
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.protocol.operation import MIB
from beliefd.protocol.operations import Operation
from beliefd.protocol.wire import parse_object, weight_of
from beliefd.steward.offload import HEAVY_BYTES, in_pool, offload

DRAIN_LIMIT: Final = 512 * 1024 * 1024
LARGE: Final = MIB
"""From here on the milliseconds that it takes to return memory are few beside those of reading it."""


async def read_body(operation: Operation, headers: Headers, receive: Receive, holding: Holding) -> Any:
    """The body in the form that the operation takes: a JSON object, or the bytes of its lines."""
    data = await _read(headers, receive, operation.max_body, holding)
    if data:
        check_content(headers, operation.body_media)
    if operation.body is None:
        return data
    if len(data) <= HEAVY_BYTES:
        return parse_object(data)
    # INVARIANT: what is built from a body is bounded by what was counted for it, whoever else sends some.
    holding.up_to(await in_pool("parse", weight_of, data))
    return await in_pool("parse", parse_object, data, True)


async def _read(headers: Headers, receive: Receive, limit: int, holding: Holding) -> bytes:
    """All bytes, if they are not too many. The rest is read and dropped, so that the answer arrives."""
    if "Expect" in headers and _announced(headers) > limit:
        raise _too_large(limit)  # the caller asks before it sends
    problem: BeliefdError | None = None
    chunks: list[bytes] = []
    size, more = 0, True
    while more and size <= max(limit, DRAIN_LIMIT):
        if size > HEAVY_BYTES:
            await turn()
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(chunk)
        problem = problem or _problem(size, limit, holding)
        if problem is None:
            chunks.append(chunk)
        else:
            chunks.clear()
            holding.release()
    if problem is not None:
        raise problem
    if len(chunks) == 1:
        return chunks[0]
    # Joining a large body takes longer than others should wait, and needs no interpreter meanwhile.
    return await offload(size > HEAVY_BYTES, _joined, chunks, kind="parse")


def _joined(chunks: list[bytes]) -> bytes:
    """INVARIANT: a large body is held once. Its pieces go back before anything is built from it."""
    data = b"".join(chunks)
    chunks.clear()
    if len(data) >= LARGE:
        return_small_pieces()
    return data


def _problem(size: int, limit: int, holding: Holding) -> BeliefdError | None:
    """Why so many bytes are not kept, if they are not; else they are counted as held."""
    if size > limit:
        return _too_large(limit)
    try:
        holding.up_to(size)
    except BeliefdError as error:
        return error
    return None


def _announced(headers: Headers) -> int:
    length = headers.get("Content-Length", "")
    return int(length) if length.isdigit() and len(length) < 20 else 0


def _too_large(limit: int) -> BeliefdError:
    return BeliefdError(
        Code.PAYLOAD_TOO_LARGE, f"the body may hold {limit} bytes at most", {"path": "$", "limit": limit}
    )
