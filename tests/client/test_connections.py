"""Connections that are kept: what is asked goes out once, and an answer is whole or it is none."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from beliefd.client.connections import Broken, Connections, NotConnected, TooLong, is_plain
from beliefd.client.warm import WarmClient
from beliefd.kernel.errors import BeliefdError

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Scripted:
    """A server that answers with what it is told to, and counts."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.asked: list[bytes] = []
        self.connections = 0

    @asynccontextmanager
    async def up(self, most: int = 1000) -> AsyncIterator[Connections]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        connections = Connections(f"http://127.0.0.1:{self.port}/base", {"X-Name": "value"}, most)
        try:
            yield connections
        finally:
            connections.close()
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while head := await read_head(reader):
            self.asked.append(head)
            answer = self.answers.pop(0) if self.answers else b""
            writer.write(answer)
            if not answer.endswith(b"ok"):
                break
        writer.close()


async def read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


async def text(connections: Connections) -> bytes:
    answer = await connections.ask("GET", "/x", {})
    try:
        return await answer.body()
    finally:
        connections.keep(answer)


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await scenario()

    asyncio.run(bounded())


def test_one_connection_serves_for_requests_that_follow_each_other() -> None:
    async def scenario() -> None:
        server = Scripted(OK, OK, OK)
        async with server.up() as connections:
            assert [await text(connections) for _ in range(3)] == [b"ok"] * 3
        assert server.connections == 1
        assert all(b"X-Name: value\r\n" in one and one.startswith(b"GET /x HTTP/1.1") for one in server.asked)

    run(scenario)


def test_a_connection_that_its_server_has_closed_is_not_used_again() -> None:
    async def scenario() -> None:
        server = Scripted(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nfirst", OK)
        async with server.up() as connections:
            assert [await text(connections), await text(connections)] == [b"first", b"ok"]
        assert server.connections == 2

    run(scenario)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"this is not HTTP\r\n\r\n",
        OK + OK[:-1] + b"!",
    ],
)
def test_what_is_no_whole_answer_is_an_error_and_is_not_asked_again(answer: bytes) -> None:
    async def scenario() -> None:
        server = Scripted(answer, OK)
        async with server.up() as connections:
            with pytest.raises(Broken):
                await text(connections)
        assert len(server.asked) == 1

    run(scenario)


def test_an_answer_that_ends_with_its_connection_is_whole() -> None:
    async def scenario() -> None:
        async with Scripted(b"HTTP/1.1 200 OK\r\n\r\nall of it").up() as connections:
            assert await text(connections) == b"all of it"

    run(scenario)


def test_more_than_is_taken_in_is_an_error() -> None:
    async def scenario() -> None:
        many = b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + b"x" * 1001
        async with Scripted(many).up() as connections:
            with pytest.raises(TooLong, match="1000 bytes"):
                await text(connections)

    run(scenario)


def test_a_stream_is_told_piece_by_piece() -> None:
    async def scenario() -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        async with Scripted(head + b"data: 1\n\n").up() as connections:
            answer = await connections.ask("GET", "/x", {})
            assert answer.is_stream
            assert [await answer.piece(), await answer.piece()] == [b"data: 1\n\n", b""]
            answer.close()

    run(scenario)


def test_nobody_at_an_address_is_told_apart_from_an_answer_that_is_lost() -> None:
    async def scenario() -> None:
        server = Scripted()
        async with server.up():
            pass
        with pytest.raises(NotConnected):
            await text(Connections(f"http://127.0.0.1:{server.port}"))
        async with WarmClient(f"http://127.0.0.1:{server.port}") as client:
            with pytest.raises(BeliefdError, match="is `beliefd serve` running"):
                await client.list_tools()

    run(scenario)


@pytest.mark.parametrize(
    "url", ["https://a.example", "http://", "http://user@a.example", "http://a.example/?x=1", "http://a:b"]
)
def test_what_needs_a_general_client_is_left_to_one(url: str) -> None:
    assert is_plain("http://a.example:80/x", {"Name": "value"})
    assert not is_plain("http://a.example", {"Name": "value\r\nOther: one"})
    assert not is_plain(url)
