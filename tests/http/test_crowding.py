"""What one connection can do to others: trailers, pipelines, slow heads and bodies, slow readers, crowds."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from beliefd.http import protocol, seats
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from tests.http.callers import large_session, memory_of, reads_nothing
from tests.http.calls import ELIMINATE, check_error, declare
from tests.http.conftest import Tokens
from tests.http.place import SILENCE, Place
from tests.http.raw import Connection, connected
from tests.support.server import ServerProcess

PIPELINED = 20_000
FLOOD = 20 * 1024 * 1024
CHUNKED = {"Transfer-Encoding": "chunked", "Content-Type": "application/json"}


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "SILENCE_SECONDS", SILENCE)
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 2 * SILENCE)


# -- trailers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "?"], ids=["answered directly", "by the application"])
def test_trailers_are_no_headers_and_let_nobody_in(query: str, guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    body = json.dumps(ELIMINATE).encode()
    with connected(server) as connection:
        connection.request("POST", f"/v1/sessions/x/eliminate{query}", headers=CHUNKED)
        connection.send(b"%x\r\n%s\r\n0\r\n" % (len(body), body))
        connection.send(b"Authorization: Bearer %s\r\nX: y\r\n\r\n" % tokens[Role.ADMIN].encode())
        answer = connection.answer()
        assert answer.status == 401
        connection.request("GET", "/healthz")  # trailers of a modest size are dropped, that is all
        assert connection.answer().status == 200


FLOODS = {
    "many trailers": b"0\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(100_000)),
    "one trailer without end": b"0\r\nX: " + b"y" * FLOOD,
    "a chunk with endless words": b"1;" + b"y" * FLOOD,
}


@pytest.mark.parametrize("flood", FLOODS)
@pytest.mark.parametrize("path", ["/v1/sessions/x/eliminate", "/v1/sessions/x/eliminate?", "/healthz"])
def test_trailers_without_end_are_refused_before_they_fill_the_memory(
    path: str, flood: str, server: ServerProcess, http: httpx.Client
) -> None:
    before = memory_of(server)
    with connected(server) as connection:
        connection.request("POST", path, headers=CHUNKED)
        try:
            connection.send(FLOODS[flood])
        except ConnectionError:
            pass  # refused and closed while we still send
        else:
            assert len(FLOODS[flood]) < FLOOD, "all of it was read"
    assert http.get("/healthz").status_code == 200
    assert memory_of(server) - before < FLOOD // 2


def test_too_many_trailers_get_one_answer_and_the_connection_is_closed(server: ServerProcess) -> None:
    with connected(server) as connection:
        connection.request("POST", "/v1/sessions/x/eliminate?", headers=CHUNKED)
        connection.send(b"0\r\n" + b"X: y\r\n" * 10_000)
        answer = connection.answer()
        assert answer.status == 431
        check_error(answer.json, Code.PAYLOAD_TOO_LARGE)
        assert connection.is_closed()


# -- pipelines -----------------------------------------------------------------------------------------


def test_twenty_thousand_pipelined_requests_are_answered_in_order(
    server: ServerProcess, http: httpx.Client
) -> None:
    """Some are answered directly, some by the application; each answer names what it was asked for."""
    body = json.dumps(ELIMINATE).encode()
    verb = b"POST /v1/sessions/v%d/eliminate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s"
    question = b"GET /v1/sessions/q%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    requests = [
        verb % (number, len(body), body) if number % 3 == 0 else question % number
        for number in range(PIPELINED)
    ]
    before = memory_of(server)
    with connected(server) as connection:
        sending = threading.Thread(target=connection.send, args=[b"".join(requests)])
        sending.start()
        for number in range(PIPELINED):
            answer = connection.answer()
            assert answer.status == 404
            assert b"`%s%d`" % (b"v" if number % 3 == 0 else b"q", number) in answer.body
        sending.join()
    assert memory_of(server) - before < 64 * 1024 * 1024
    assert http.get("/healthz").status_code == 200


def test_requests_are_not_read_ahead_without_end_while_an_answer_is_due(
    place: Place, near: httpx.Client
) -> None:
    feed = f"GET /v1/sessions/{declare(near)}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    connection = Connection(place.port)
    connection.send(feed.encode())  # it ends when the server does
    assert connection.line() == b"HTTP/1.1 200 OK\r\n"
    near.close()
    connection.socket.settimeout(SILENCE)
    sent = 0
    with suppress(TimeoutError):
        while sent < 4 * FLOOD:
            sent += connection.socket.send(b"GET / HTTP/1.1\r\n\r\n" * 1000)
    assert sent < 4 * FLOOD  # what is in flight is in the buffers of two sockets
    [one] = [one for one in place.server.server_state.connections if isinstance(one, protocol.Protocol)]
    assert len(one.pipeline) <= protocol.SLICE // 18
    place.runtime.feeds.end()
    connection.close()


@pytest.mark.parametrize("query", ["", "?"], ids=["answered directly", "by the application"])
def test_what_is_no_request_is_refused_after_the_requests_before_it(
    query: str, server: ServerProcess, session_id: str
) -> None:
    body = json.dumps(ELIMINATE).encode()
    good = b"POST /v1/sessions/%s/eliminate%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s"
    with connected(server) as connection:
        requests = good % (session_id.encode(), query.encode(), len(body), body) * 3
        connection.send(requests + b"nonsense\r\n\r\n")
        assert [connection.answer().status for _ in range(3)] == [200] * 3
        answer = connection.answer()
        assert answer.status == 400
        check_error(answer.json, Code.INVALID_REQUEST)
        assert connection.is_closed()


def test_a_body_that_waits_for_its_turn_can_be_refused_too(server: ServerProcess, session_id: str) -> None:
    good = b"GET /v1/sessions/%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % session_id.encode()
    bad = b"POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    with connected(server) as connection:
        connection.send(good * 2 + bad)
        assert [connection.answer().status for _ in range(3)] == [200, 200, 400]
        assert connection.is_closed()


# -- slowness ------------------------------------------------------------------------------------------


def drip(connection: Connection, data: bytes, pause: float) -> bool:
    """Send byte after byte; True if the other side hangs up before the end."""
    for at in range(len(data)):
        try:
            connection.send(data[at : at + 1])
            connection.socket.settimeout(pause)
            if connection.socket.recv(1) == b"":
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


@pytest.mark.parametrize(
    "beginning",
    [
        b"GET /healthz HTTP/1.1\r\nX: ",
        b"POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n",
        b"POST /v1/sessions/x/eliminate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n",
    ],
    ids=["head", "body for the application", "body of a verb"],
)
def test_a_caller_that_sends_a_byte_now_and_then_is_let_go(beginning: bytes, place: Place) -> None:
    """It is never silent for long enough to be noticed by that."""
    connection = Connection(place.port)
    connection.send(beginning)
    assert drip(connection, b"a" * 200, SILENCE / 10)
    connection.close()


def test_a_caller_that_sends_steadily_may_take_longer_than_that(place: Place, near: httpx.Client) -> None:
    path = f"/v1/sessions/{declare(near)}/eliminate?"
    body = json.dumps(ELIMINATE).encode()
    body += b" " * (40_000 - len(body))
    connection = Connection(place.port)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.send(head.encode())
    for start in range(0, len(body), 2_000):
        connection.send(body[start : start + 2_000])
        time.sleep(SILENCE / 5)
    assert connection.answer().status == 200
    connection.close()


@pytest.mark.parametrize("path", ["events", "audit/export", "audit?limit=60"])
def test_a_caller_that_takes_nothing_of_its_answer_is_cut(
    path: str, place: Place, near: httpx.Client
) -> None:
    caller = reads_nothing(place.port, f"/v1/sessions/{large_session(near)}/{path}")
    connections = place.server.server_state.connections
    near.close()
    deadline = time.monotonic() + 30
    while any(connections):
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.05)
    caller.close()


# -- crowds --------------------------------------------------------------------------------------------


@pytest.fixture
def small_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr(seats, "MAX_CONNECTIONS", 3)
    made = Place()
    yield made
    made.close()


def test_where_all_places_are_taken_the_one_that_rests_longest_gives_way(small_place: Place) -> None:
    idle = [Connection(small_place.port) for _ in range(3)]
    for one in idle:
        one.send(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
    late = Connection(small_place.port)
    late.request("GET", "/healthz")
    assert late.answer().status == 200
    assert idle[0].is_closed()
    for one in (*idle, late):
        one.close()


def test_where_all_are_busy_a_new_one_is_told_when_to_come_back(small_place: Place) -> None:
    with httpx.Client(base_url=small_place.url, verify=False) as http:
        session_id = declare(http)
    feeds = [Connection(small_place.port) for _ in range(3)]
    for one in feeds:
        one.request("GET", f"/v1/sessions/{session_id}/events")
        assert one.line() == b"HTTP/1.1 200 OK\r\n"
    late = Connection(small_place.port)
    late.request("GET", "/healthz")
    answer = late.answer()
    assert answer.status == 503
    check_error(answer.json, Code.TOO_BUSY)
    assert int(answer.headers["retry-after"]) > 0
    assert late.is_closed()
    small_place.runtime.feeds.end()
    for one in (*feeds, late):
        one.close()
