"""Slow, silent and vanishing clients harm nobody, themselves included."""

import asyncio
import itertools
import json
import random
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.faults.feed import following
from tests.faults.load import Log, Request, audit, client, declare, requests, send, snapshot, write_bulk
from tests.faults.place import Place
from tests.support.server import ServerProcess

SEED = 23
VANISHING = 120
IDLE = 200

pytestmark = pytest.mark.slow


def test_a_client_that_is_gone_before_its_answer_neither_loses_nor_doubles_its_event(place: Place) -> None:
    chance = random.Random(SEED)
    log = Log()

    async def vanish(server: ServerProcess, request: Request) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(as_bytes(request))
        match chance.randrange(3):
            case 0:
                await asyncio.sleep(chance.uniform(0, 0.1))
            case 1:
                await reader.read(1)  # the answer is on its way, and nobody will read it
        if chance.random() < 0.5:
            hang_up_hard(writer.get_extra_info("socket"))
        writer.close()

    async def story(server: ServerProcess) -> None:
        async with client(server.url) as http:
            session_id = await declare(http, {})
            todo = list(keyed(session_id, VANISHING))
            await asyncio.gather(*(vanish(server, request) for request in todo))
            assert (await snapshot(http, session_id))["seq"] > 1, "none of them got that far"
            for request in todo:
                log.keep(request, await send(http, request))
            events = await audit(http, session_id)
            log.check(session_id, events)
            assert len(events) == 1 + VANISHING

    with place.server() as server:
        asyncio.run(story(server))
    assert place.check_whole() == 1 + VANISHING


def test_a_request_that_never_ends_records_nothing(file_place: Place) -> None:
    async def story(server: ServerProcess) -> None:
        async with client(server.url) as http:
            session_id = await declare(http, {})
            for request in keyed(session_id, 20):
                whole = as_bytes(request)
                _, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(whole[: -len(whole) // 4])
                await writer.drain()
                writer.close()
            assert (await snapshot(http, session_id))["seq"] == 1

    with file_place.server() as server:
        asyncio.run(story(server))


def test_hundreds_of_silent_connections_do_not_keep_others_waiting(place: Place) -> None:
    async def story(server: ServerProcess) -> None:
        async with client(server.url) as http:
            session_id = await declare(http, {})
            with ExitStack() as stack:
                half = as_bytes(next(keyed(session_id, 1)))[:-10]
                for number in range(IDLE):
                    connection = stack.enter_context(connected(server))
                    connection.sendall((b"", b"GET /healthz HT", half)[number % 3])
                for request in keyed(session_id, 50):
                    await send(http, request)
            assert (await snapshot(http, session_id))["seq"] == 51

    with place.server() as server:
        asyncio.run(story(server))


def test_a_follower_that_does_not_read_holds_up_nobody(file_place: Place) -> None:
    async def story(server: ServerProcess) -> None:
        async with client(server.url) as http:
            session_id = await declare(http, {})
            with connected(server) as deaf:
                deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                deaf.sendall(
                    f"GET /v1/sessions/{session_id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
                )
                async with following(http, session_id) as feed:
                    ids: list[str] = []
                    for _ in range(20):
                        await write_bulk(http, session_id, ids)
                    await feed.reach(1 + len(ids))
                    assert [event["event_id"] for event in feed.events[1:]] == ids
                assert deaf.recv(12) == b"HTTP/1.1 200"

    with file_place.server() as server:
        asyncio.run(story(server))


def keyed(session_id: str, count: int) -> Iterator[Request]:
    return itertools.islice((one for one in requests("client", [session_id], SEED) if one.key), count)


def as_bytes(request: Request) -> bytes:
    """The request as it goes over the wire."""
    body = json.dumps(request.body).encode()
    headers = {"Host": "127.0.0.1", "Content-Length": str(len(body)), **request.headers}
    lines = [f"POST {request.url} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def hang_up_hard(connection: socket.socket) -> None:
    """Closing it will be a reset, not a farewell."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def connected(server: ServerProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port))
