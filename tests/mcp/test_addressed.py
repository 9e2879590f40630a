"""Calls of tools at an address go out once, beside the SDK, whatever becomes of the answer."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from mcp.shared.exceptions import MCPError
from starlette.types import Receive, Scope, Send

from beliefd.mcp.config import GatewayConfig, Limits, Upstream
from beliefd.mcp.event_stream import Event, Events, TooLarge
from beliefd.mcp.requests import FIRST
from beliefd.mcp.upstream import Gone, Listeners, Session
from tests.mcp.support import run, until

EVENTS = b"text/event-stream"
JSON = b"application/json"
RESULT = {"content": [{"type": "text", "text": "done"}], "isError": False}


class Server:
    """Begins sessions of the last older revision; how calls are answered is the test's to say."""

    def __init__(self, answer: "Callable[[Server, Any, Send], Awaitable[None]]") -> None:
        self.answer = answer
        self.called: list[Any] = []
        self.told: list[Any] = []
        self.resumed: list[bytes] = []
        self.rest: list[bytes] = []
        self.headers: dict[bytes, bytes] = {}
        self.moved = False
        self.over = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if scope["method"] == "GET" and b"last-event-id" in headers:
            self.resumed.append(headers[b"last-event-id"])
            await reply(send, 200, self.rest.pop(0), EVENTS)
        elif scope["method"] != "POST":
            await reply(send, 405, b"")
        else:
            body = b""
            while (message := await receive()).get("more_body"):
                body += message["body"]
            await self.posted(scope, headers, json.loads(body + message["body"]), send)

    async def posted(self, scope: Scope, headers: dict[bytes, bytes], message: Any, send: Send) -> None:
        method = message["method"]
        if method == "tools/call" and self.moved and scope["path"] == "/mcp":
            await reply(send, 307, b"", location=b"/moved")
        elif method == "tools/call":
            self.called.append(message)
            self.headers = headers
            await self.answer(self, message["id"], send)
        elif "id" not in message:
            self.told.append(message)
            await reply(send, 202, b"")
        elif method == "initialize":
            told = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            result = {**told, "serverInfo": {"name": "scripted", "version": "1"}}
            await reply(send, 200, answered(message["id"], result), JSON, **{"mcp-session-id": b"a-session"})
        else:
            error = {"code": -32601, "message": "no such method"}
            await reply(
                send, 404, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode(), JSON
            )

    @asynccontextmanager
    async def session(self, **limits: Any) -> AsyncIterator[Session]:
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(self, log_level="error", lifespan="off"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        upstream = Upstream(url=url, protocol="legacy")
        config = GatewayConfig(name="test", upstreams={"it": upstream}, limits=Limits(**limits))

        async def changed(_: str, message: Any) -> None:
            self.told.append(message)

        session = Session("it", config, Listeners(changed))
        try:
            await session.client()
            yield session
        finally:
            await session.close()
            self.over.set()
            server.should_exit = True
            await serving


async def reply(send: Send, status: int, body: bytes, kind: bytes = JSON, **more: bytes) -> None:
    headers = [(b"content-type", kind), *((name.encode(), value) for name, value in more.items())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def answered(number: int, result: Any = RESULT) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()


def event(data: bytes, name: str = "") -> bytes:
    return (f"id: {name}\nretry: 1\n".encode() if name else b"") + b"data: " + data + b"\n\n"


async def call(session: Session, seconds: float = 20, progress: Any = None) -> Any:
    return await session.call("tool", {"x": 1}, seconds, progress, "2025-11-25")


async def in_a_document(server: Server, number: int, send: Send) -> None:
    await reply(send, 200, answered(number))


async def in_a_stream(server: Server, number: int, send: Send) -> None:
    told = {"progressToken": number, "progress": 0.5}
    moving = {"jsonrpc": "2.0", "method": "notifications/progress", "params": told}
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    pieces = [event(json.dumps(one).encode()) for one in (moving, changed)]
    await reply(send, 200, b": a remark\n\n" + b"".join(pieces) + event(answered(number)), EVENTS)


@pytest.mark.parametrize("answer", [in_a_document, in_a_stream])
def test_a_call_goes_out_once_in_the_session_of_the_protocol_with_an_id_of_ours(answer: Any) -> None:
    async def scenario() -> None:
        server = Server(answer)
        heard: list[float] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            heard.append(done)

        async with server.session() as session:
            assert await call(session, progress=progress) == RESULT
            if answer is in_a_stream:
                await until(lambda: heard == [0.5])
                await until(lambda: any("ToolListChanged" in type(one).__name__ for one in server.told))
        assert [one["id"] for one in server.called] == [FIRST]
        assert server.called[0]["params"] == {
            "name": "tool",
            "arguments": {"x": 1},
            "_meta": {"progressToken": FIRST},
        }
        assert server.headers[b"mcp-session-id"] == b"a-session"
        assert server.headers[b"mcp-protocol-version"] == b"2025-11-25"

    run(scenario)


def test_a_stream_that_breaks_off_is_taken_up_where_it_was_and_the_call_is_not_sent_again() -> None:
    async def begins(server: Server, number: int, send: Send) -> None:
        server.rest = [event(b"", "two"), event(answered(number), "three")]
        await reply(send, 200, event(b"", "one"), EVENTS)

    async def scenario() -> None:
        server = Server(begins)
        async with server.session() as session:
            assert await call(session) == RESULT
        assert (len(server.called), server.resumed) == (1, [b"one", b"two"])

    run(scenario)


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (200, b"", EVENTS, "Connection closed"),
        (200, b"not json", JSON, "no result"),
        (200, answered(1), JSON, "no result"),
        (200, b"<html>", b"text/html", "no result"),
        (202, b"", JSON, "not answered"),
        (502, b"", JSON, "status 502"),
        (200, answered(FIRST, {"content": [{"type": "text", "text": "x" * 5000}]}), JSON, "more than 2048"),
        (200, event(b"x" * 5000), EVENTS, "more than 2048"),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"not so"}}', JSON, "not so"),
        (404, b"", JSON, "Session terminated"),
    ],
)
def test_what_is_no_answer_is_an_error_and_nothing_is_sent_again(
    status: int, body: bytes, kind: bytes, words: str
) -> None:
    async def answer(server: Server, number: int, send: Send) -> None:
        await reply(send, status, body, kind)

    async def scenario() -> None:
        server = Server(answer)
        async with server.session(message_bytes=2048) as session:
            with pytest.raises(MCPError, match=words):
                await call(session)
            if status == 404:  # the next one begins anew
                await until(lambda: session.over)
        assert len(server.called) == 1

    run(scenario)


@pytest.mark.parametrize("reason", ["it has timed out", "the caller cancelled it"])
def test_of_a_call_that_nobody_waits_for_its_server_is_told(reason: str) -> None:
    async def never(server: Server, number: int, send: Send) -> None:
        await server.over.wait()

    def cancelled(server: Server) -> list[Any]:
        told = [one for one in server.told if isinstance(one, dict)]
        return [one["params"] for one in told if one["method"] == "notifications/cancelled"]

    async def scenario() -> None:
        server = Server(never)
        async with server.session() as session:
            if reason == "it has timed out":
                with pytest.raises(MCPError, match="timed out"):
                    await call(session, seconds=0.2)
            else:
                calling = asyncio.create_task(call(session))
                await until(lambda: len(server.called) == 1)
                calling.cancel()
                await asyncio.wait({calling})
            await until(lambda: cancelled(server) == [{"requestId": FIRST, "reason": reason}])
        assert len(server.called) == 1

    run(scenario)


def test_an_upstream_that_has_moved_is_followed_by_the_sdk_and_called_once() -> None:
    async def scenario() -> None:
        server = Server(in_a_document)
        server.moved = True
        async with server.session() as session:
            assert await call(session) == RESULT
            assert await call(session) == RESULT
        assert [one["id"] < FIRST for one in server.called] == [True, True]

    run(scenario)


def test_an_upstream_that_has_gone_was_sent_nothing_and_is_begun_anew() -> None:
    async def scenario() -> None:
        server = Server(in_a_document)
        async with server.session() as session:
            addressed = session._addressed
            assert addressed is not None
            addressed._connections._port = 1  # nobody listens there
            with pytest.raises(Gone, match="cannot be reached"):
                await call(session)
            await until(lambda: session.over)
        assert server.called == []

    run(scenario)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_are_the_same_however_they_arrive(end: str) -> None:
    text = "\n: remark\n\nid: 1\nevent: message\nretry: 5\ndata: a\ndata:b\n\nid\n\ndata: c\n\n".replace(
        "\n", end
    )
    whole = [Event(b"a\nb", "message", "1", 5), Event(id=""), Event(b"c")]
    for size in (1, 2, 3, 7, len(text)):
        events = Events(100)
        pieces = [text.encode()[at : at + size] for at in range(0, len(text), size)]
        found = [one for piece in [*pieces, b"\n"] for one in events.fed(piece)]
        assert found == whole, size


def test_an_event_without_an_end_is_not_kept() -> None:
    events = Events(100)
    assert list(events.fed(b"data: " + b"x" * 90)) == []
    with pytest.raises(TooLarge):
        list(events.fed(b"x" * 5))
