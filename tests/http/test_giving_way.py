"""Where all seats are taken: who takes nothing of an answer gives way, and strangers keep nobody out."""

import socket
import time
from collections.abc import Callable

import httpx
import pytest

from beliefd.cli.server import UNSENT_BYTES
from beliefd.http import seats
from beliefd.http.protocol import Protocol
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from beliefd.testing.world import policy
from tests.http.callers import large_session, memory_of, reads_nothing
from tests.http.calls import error_of
from tests.http.conftest import Tokens
from tests.http.place import Place
from tests.http.raw import Connection, connected
from tests.support.server import ServerProcess

SEATS = 3
PATIENCE = 0.2
MOST_PER_CALLER = 24 * 1024
"""Bytes for a caller that asks for much and takes nothing; a request that waits for its turn takes 3,500."""


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "MAX_CONNECTIONS", SEATS)
    monkeypatch.setattr(seats, "PATIENCE_SECONDS", PATIENCE)


def status(place: Place) -> int:
    late = Connection(place.port)
    late.request("GET", "/healthz")
    answer = late.answer().status
    late.close()
    return answer


def unread(place: Place | ServerProcess, request: bytes, room: int = 2048) -> socket.socket:
    caller = socket.socket()
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    caller.connect(("127.0.0.1", place.port))
    caller.sendall(request)
    return caller


def pending(place: Place) -> list[int]:
    """Bytes that wait to be taken, of each connection that has some."""
    open_now = [one for one in place.server.server_state.connections if isinstance(one, Protocol)]
    return [waiting for one in open_now if (waiting := one.wire.pending)]


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def until_pending(place: Place, connections: int) -> None:
    until(lambda: len(pending(place)) >= connections)


DOCUMENT = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize("times", [1, 40])
def test_documents_that_nobody_takes_keep_nobody_out(times: int, place: Place) -> None:
    callers = [unread(place, DOCUMENT * times) for _ in range(SEATS)]
    until_pending(place, SEATS)
    time.sleep(2 * PATIENCE)
    assert [status(place) for _ in range(2 * SEATS)] == [200] * 2 * SEATS
    for one in callers:
        one.close()


def test_an_answer_that_nobody_takes_gives_way(place: Place) -> None:
    with httpx.Client(base_url=place.url, verify=False) as http:
        session_id = large_session(http)
    callers = [reads_nothing(place.port, f"/v1/sessions/{session_id}/audit/export") for _ in range(SEATS)]
    until_pending(place, SEATS)
    deadline = time.monotonic() + 30
    while status(place) != 200:
        assert time.monotonic() < deadline, "they keep their seats"
        time.sleep(PATIENCE)
    for one in callers:
        one.close()


def test_an_answer_that_is_being_taken_does_not(place: Place) -> None:
    with httpx.Client(base_url=place.url, verify=False) as http:
        session_id = large_session(http)
    asked = f"GET /v1/sessions/{session_id}/audit/export HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    taking = [unread(place, asked, 256 * 1024) for _ in range(SEATS)]
    got = [one.recv(1) for one in taking]
    for _ in range(12):
        for at, one in enumerate(taking):
            got[at] += one.recv(256 * 1024, socket.MSG_WAITALL)
        time.sleep(PATIENCE / 10)
        assert status(place) == 503
    for at, one in enumerate(taking):
        while not got[at].endswith(b"\r\n0\r\n\r\n"):
            piece = one.recv(1 << 20)
            assert piece, "it was cut"
            got[at] += piece
        one.close()


def test_a_large_answer_counts_as_its_callers_until_it_is_taken(place: Place, near: httpx.Client) -> None:
    session_id = large_session(near, 20)
    place.runtime.steward.in_force.adopt(policy(limits={"bytes_in_flight": 5_000_000}))
    path = f"/v1/sessions/{session_id}/audit?limit=20"  # some four megabytes: far more than sockets take
    in_flight = place.surface.metrics.in_flight
    caller = reads_nothing(place.port, path)
    until(lambda: in_flight.total > 3_500_000)
    answer = near.get(path)
    error = error_of(answer, 429, Code.RATE_LIMITED)
    assert error["details"]["reason"] == "bytes_in_flight"
    assert near.get(f"/v1/sessions/{session_id}/audit?limit=1").status_code == 200
    caller.settimeout(30)
    while in_flight.total:
        assert caller.recv(1 << 20), "it was cut"
    assert near.get(path).status_code == 200
    again = reads_nothing(place.port, path)
    until(lambda: in_flight.total > 3_500_000)
    again.close()
    until(lambda: in_flight.total == 0)
    caller.close()


def test_what_is_not_taken_is_in_memory_once(guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    with httpx.Client(base_url=server.url, verify=False) as http:
        size = len(http.get("/openapi.json").content)
        before = memory_of(server)
        callers = [unread(server, DOCUMENT * 40) for _ in range(100)]
        time.sleep(1)
        assert http.get("/healthz").status_code == 200
        assert memory_of(server) - before < 100 * MOST_PER_CALLER < 100 * size / 10
    for one in callers:
        one.close()
    with connected(server) as connection:
        connection.request("GET", "/v1/sessions", headers={"Authorization": f"Bearer {tokens[Role.ADMIN]}"})
        assert connection.answer().status == 200


def test_the_system_takes_little_of_what_is_not_read(place: Place) -> None:
    caller = unread(place, DOCUMENT)
    until_pending(place, 1)
    held = pending(place)
    with httpx.Client(base_url=place.url, verify=False) as http:
        size = len(http.get("/openapi.json").content)
    assert held[0] > size - 2 * UNSENT_BYTES
    caller.close()


def test_no_request_waits_for_its_turn_but_as_bytes(place: Place) -> None:
    """Read, each takes some kilobytes, and twenty bytes on the way."""
    caller = unread(place, DOCUMENT * 10 + b"GET / HTTP/1.1\r\n\r\n" * 700)
    until_pending(place, 1)
    (connection,) = place.server.server_state.connections
    assert isinstance(connection, Protocol)
    assert not connection.pipeline
    assert connection.cycle.response_complete, "the next one is not begun before this one was taken"
    caller.close()


SMALL = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
BLANK = b"Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
VERB = b"POST /v1/sessions/x/eliminate HTTP/1.1\r\n" + BLANK + b"Content-Length: 4\r\n\r\n\n\n\n\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n2\r\n\n\n\r\n0\r\n\r\n"
CHUNKS = b"POST /v1/claims/check HTTP/1.1\r\n" + BLANK + CHUNKED


@pytest.mark.parametrize("piece", [1 << 20, 700, 47, 3])
def test_requests_are_told_apart_wherever_they_are_cut(place: Place, piece: int) -> None:
    asked = [SMALL, VERB, SMALL, CHUNKS, DOCUMENT, VERB, b"\r\n\r\n" + SMALL] * 4
    wanted = [200, 400, 200, 400, 200, 400, 200] * 4
    sent = b"".join(asked)
    caller = Connection(place.port)
    for start in range(0, len(sent), piece):
        caller.send(sent[start : start + piece])
    assert [caller.answer().status for _ in asked] == wanted
    caller.close()


def test_what_waits_on_all_connections_together_is_bounded(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seats, "MAX_HELD", 20_000)
    callers = [unread(place, DOCUMENT * 2 + SMALL * 200) for _ in range(2)]
    until_pending(place, 2)
    held = seats.seats_of(place.server.server_state)
    assert 8_000 < held.held < 20_000
    late = Connection(place.port)
    late.send(DOCUMENT + SMALL * 400)
    assert [late.answer().status for _ in range(2)] == [200, 503]
    assert late.is_closed()
    for one in callers:
        one.close()
    until(lambda: held.held == 0)
