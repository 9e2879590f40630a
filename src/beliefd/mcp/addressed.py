"""An upstream at an address: the SDK's streams to it, and calls of tools that go beside them.

The SDK's way for a call takes several tasks, four validations and a general HTTP client. What it says of us
with each request is asked of it for ours, too, so that a server need not tell them apart.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
import httpx2
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp import Client
from mcp.client.streamable_http import (
    DEFAULT_RECONNECTION_DELAY_MS,
    LAST_EVENT_ID,
    MAX_RECONNECTION_ATTEMPTS,
    MCP_SESSION_ID,
    streamable_http_client,
)
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from beliefd.client.connections import Answer, Broken, Connections, NotConnected, TooLong, is_plain
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.mcp.config import Limits, Upstream
from beliefd.mcp.event_stream import Events, TooLarge
from beliefd.mcp.frames import CALL, Frame, frame_in, key_of, written
from beliefd.mcp.process import TOO_LARGE, Budget, Incoming, Streams, parsed
from beliefd.mcp.requests import (
    ABANDONED,
    TIMED_OUT,
    Requests,
    closed,
    meta_of,
    result_in,
    timed_out,
)

TAKEN: Final = {"accept": "application/json, text/event-stream"}
JSON: Final = {"content-type": "application/json"}
ACCEPTED: Final = 202
NOT_FOUND: Final = 404
ELSEWHERE: Final = (307, 308)
"""Says that nothing was done here: the SDK follows it, as far as it may be followed."""


class NotSent(Exception):
    """Nothing has gone out."""


class Elsewhere(Exception):
    """Nothing was done: the upstream sends whoever asks to another address."""


class Addressed:
    """Our own requests to one upstream.

    `ended` is called when no other request can be made in this session of the protocol.
    """

    def __init__(self, upstream: Upstream, limits: Limits, ended: Callable[[], None]) -> None:
        self.headers = headers_of(upstream)
        url = upstream.url or ""
        self._connections = Connections(url, self.headers, limits.message_bytes)
        self._most = limits.message_bytes
        self._budget = Budget(limits.notifications_per_second)
        self._requests = Requests()
        self._ended = ended
        self._session: dict[str, str] = {}
        self.others: Callable[[Incoming], Awaitable[None]] | None = None
        """Who is handed what comes on our streams and is for the SDK."""
        self._telling: set[asyncio.Task[None]] = set()
        self._is_plain = is_plain(url, self.headers)

    def reaches(self, client: Client) -> bool:
        """Can requests be made here? If not, the SDK makes them."""
        return self._is_plain and hasattr(client.session, "_stamp")

    def give_up(self) -> None:
        self._is_plain = False

    def learn(self, request: httpx2.Request) -> None:
        """The SDK says in which session it is."""
        if (session := request.headers.get(MCP_SESSION_ID)) is not None:
            self._session = {MCP_SESSION_ID: session}

    def close(self) -> None:
        self._connections.close()
        for task in self._telling:
            task.cancel()

    def takes(self, message: Incoming) -> bool:
        """Is this, which came on a stream of the SDK's, about a request of ours?"""
        if not isinstance(message, SessionMessage) or not isinstance(
            message.message, types.JSONRPCNotification
        ):
            return False
        text = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        frame = frame_in(text)
        return frame is not None and self._requests.takes(frame, self._budget.allows)

    async def call(
        self,
        client: Client,
        name: str,
        arguments: dict[str, Any],
        seconds: float,
        progress: ProgressFnT | None,
    ) -> Any:
        """INVARIANT: one message goes out. A stream that breaks off is taken up again, nothing is sent."""
        with self._requests.waiting(progress) as (number, came):
            message: dict[str, Any] = {"method": CALL, "params": {"name": name, "arguments": arguments}}
            stamped: Any = {}
            client.session._stamp(message, stamped)  # what the SDK itself says with every request
            if meta := {**message["params"].get("_meta", {}), **meta_of(number, progress)}:
                message["params"]["_meta"] = meta
            headers = {**TAKEN, **self._session, **stamped.get("headers", {})}
            body = written(id=number, **message)
            try:
                async with asyncio.timeout(seconds):
                    return await self._asked(number, came, headers, body)
            except TimeoutError:
                self._cancel(client, number, TIMED_OUT)
                raise timed_out(seconds) from None
            except asyncio.CancelledError:
                self._cancel(client, number, ABANDONED)
                raise

    async def _asked(
        self, number: int, came: "asyncio.Future[Any]", headers: dict[str, str], body: bytes
    ) -> Any:
        try:
            answer = await self._connections.ask("POST", self._connections.path, {**headers, **JSON}, body)
        except NotConnected as error:
            self._ended()
            raise NotSent(str(error)) from None
        except TooLong as error:
            raise MCPError(TOO_LARGE, str(error)) from None
        except Broken:
            self._ended()
            raise closed() from None
        try:
            if answer.status == 200 and answer.is_stream:
                return await self._streamed(answer, came, headers)
            return self._document(number, answer.status, answer.headers, await answer.body())
        finally:
            self._connections.keep(answer)

    def _document(self, number: int, status: int, headers: dict[bytes, bytes], body: bytes) -> Any:
        if status in ELSEWHERE:
            raise Elsewhere
        is_json = headers.get(b"content-type", b"").lower().startswith(b"application/json")
        frame = frame_in(body) if is_json else None
        if frame is not None and _answers(frame, number, status):
            return result_in(frame)
        if status == NOT_FOUND and self._session:
            self._ended()
            raise MCPError(types.INVALID_REQUEST, "Session terminated")
        if status == NOT_FOUND:
            raise MCPError(types.METHOD_NOT_FOUND, "Not Found")
        if status == ACCEPTED:
            raise MCPError(types.INTERNAL_ERROR, "it was accepted, and not answered")
        raise MCPError(types.INTERNAL_ERROR, f"its answer is no result (status {status})")

    async def _streamed(self, answer: Answer, came: "asyncio.Future[Any]", headers: dict[str, str]) -> Any:
        """INVARIANT: what is asked again is the stream from where it broke off, by its last event."""
        last, pause, failures = None, DEFAULT_RECONNECTION_DELAY_MS, 0
        stream: Answer | None = answer
        while True:
            if stream is not None:
                events = Events(self._most)
                try:
                    while piece := await stream.piece():
                        for event in events.fed(piece):
                            last, failures = event.id or last, 0
                            pause = pause if event.retry is None else event.retry
                            if event.data and event.name == "message":
                                await self._heard(event.data)
                        if came.done():
                            return came.result()
                except TooLarge:
                    raise MCPError(TOO_LARGE, f"the answer has more than {self._most} bytes") from None
                except TooLong as error:
                    raise MCPError(TOO_LARGE, str(error)) from None
                except Broken:
                    pass
                finally:
                    if stream is not answer:
                        self._connections.keep(stream)
            if last is None or failures >= MAX_RECONNECTION_ATTEMPTS:
                raise closed()
            failures += 1
            await asyncio.sleep(pause / 1000)
            stream = await self._again(headers, last)

    async def _again(self, headers: dict[str, str], last: str) -> Answer | None:
        """The rest of a stream; None if it cannot be had now."""
        try:
            told = {**headers, LAST_EVENT_ID: last, "accept": "text/event-stream"}
            answer = await self._connections.ask("GET", self._connections.path, told)
        except OSError:
            return None
        if answer.status == 200 and answer.is_stream:
            return answer
        answer.close()
        return None

    async def _heard(self, data: bytes) -> None:
        frame = frame_in(data)
        if frame is not None and self._requests.takes(frame, self._budget.allows):
            return
        message = parsed(data, self._budget)
        if message is not None and self.others is not None:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self.others(message)

    def _cancel(self, client: Client, number: int, reason: str) -> None:
        """Older revisions want to be told; for the newest, a connection that is closed says so."""
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        told = types.CancelledNotificationParams(request_id=number, reason=reason)
        telling = asyncio.ensure_future(_tell(client, types.CancelledNotification(params=told)))
        self._telling.add(telling)
        telling.add_done_callback(self._telling.discard)


def _answers(frame: Frame, number: int, status: int) -> bool:
    """Is this what our request came to? Of one that is turned away, servers may not have read the id."""
    if frame.method:
        return False
    if status >= 400:
        return bool(bytes(frame.error))
    return 200 <= status < 300 and frame.id is not None and key_of(frame.id) == number


async def _tell(client: Client, message: types.CancelledNotification) -> None:
    try:
        await client.session.send_notification(message)
    except Exception:  # it has left: nobody is there to be told
        return


class _Counted(httpx2.AsyncByteStream):
    """The body of an answer, up to so many bytes."""

    def __init__(self, stream: Any, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise httpx2.DecodingError(f"the answer has more than {self._most} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Bounded(httpx2.AsyncHTTPTransport):
    """The SDK bounds the events of a stream; an answer that is one document is bounded here."""

    def __init__(self, most: int, learn: Callable[[httpx2.Request], None]) -> None:
        super().__init__()
        self._most = most
        self._learn = learn

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._learn(request)
        response = await super().handle_async_request(request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _Counted(response.stream, self._most)
        return response


def headers_of(upstream: Upstream) -> dict[str, str]:
    """The headers that the configuration takes from the environment."""
    headers = {}
    for header, variable in upstream.headers.items():
        if variable not in os.environ:
            raise BeliefdError(Code.INVALID_REQUEST, f"no variable `{variable}` for the header `{header}`")
        headers[header] = os.environ[variable]
    return headers


@asynccontextmanager
async def connected(upstream: Upstream, limits: Limits, ours: Addressed) -> AsyncGenerator[Streams, None]:
    """The SDK's streams to an upstream by its address; what comes on `ours` joins them."""
    timeout = httpx2.Timeout(limits.start_seconds, read=limits.call_seconds)
    most = limits.message_bytes
    http = httpx2.AsyncClient(headers=ours.headers, timeout=timeout, transport=_Bounded(most, ours.learn))
    transport = streamable_http_client(upstream.url or "", http_client=http, max_sse_event_size=most)
    incoming, read = anyio.create_memory_object_stream[Incoming](0)
    async with http, transport as (theirs, write):
        joining = asyncio.create_task(_join(theirs, incoming, ours))
        ours.others = incoming.send
        try:
            yield read, write  # type: ignore[misc]  # the SDK's stream, which takes the same messages
        finally:
            ours.close()
            joining.cancel()
            await asyncio.gather(joining, return_exceptions=True)
            incoming.close()
            read.close()


async def _join(theirs: Any, incoming: MemoryObjectSendStream[Incoming], ours: Addressed) -> None:
    """What comes to the SDK, but for progress of calls of ours."""
    async with incoming:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for message in theirs:
                if not ours.takes(message):
                    await incoming.send(message)
