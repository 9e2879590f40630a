"""What was refused is let go of at once: nothing holds a body until the garbage is collected."""

import asyncio
import gc
import json
import socket
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest

from beliefd.http.protocol import Protocol
from beliefd.tools import threads
from tests.http.callers import forge
from tests.http.calls import ELIMINATE, declare, eliminate
from tests.http.place import Place

SIZE = 2 * 1024 * 1024
TIMES = 4
SOON = 10
LONG = "x" * SIZE
REFUSED: dict[str, tuple[str, Any]] = {
    "parsed elsewhere": ("/v1/sessions/{}/proposals", {"provenance": {"source": "agent"}, "x": LONG}),
    "measured elsewhere": ("/v1/uncertainty/semantic_entropy", {"answers": [LONG]}),
    "measured in a session": (
        "/v1/sessions/{}/measurements",
        {"statement": "x", "method": "semantic_entropy", "answers": [LONG]},
    ),
    "read as a command": (
        "/v1/sessions/{}/eliminate",
        {**ELIMINATE, "eliminated": 0, "justification": {"l": LONG}},
    ),
    "a claim": ("/v1/claims/check", {"claims": [{"statement": LONG}]}),
}


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.enable()


def post(place: Place, path: str, body: bytes) -> int:
    """Not with httpx, which itself holds what it sent until it is collected."""
    with closing(HTTPConnection("127.0.0.1", place.port)) as caller:
        caller.request("POST", path, body, {"Content-Type": "application/json"})
        answer = caller.getresponse()
        answer.read()
        return answer.status


def held_after(place: Place, path: str, content: Any, status: int) -> int:
    """Bytes that are held after some bodies were refused, beyond what was held after the first."""
    body = json.dumps(content).encode()
    assert post(place, path, body) == status
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(TIMES):
        assert post(place, path, body) == status
    deadline = time.monotonic() + SOON
    while (held := tracemalloc.get_traced_memory()[0] - before) >= SIZE and time.monotonic() < deadline:
        time.sleep(0.01)  # the server lets go after the last byte of its answer
    return held


GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = json.dumps(ELIMINATE).encode()
SENT: dict[str, bytes] = {
    "a request of the application": GET,
    "a verb": b"POST /v1/sessions/%s/eliminate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n" % (b"SESSION", len(BODY)) + BODY,
    "requests behind each other": GET * 5,
    "half a request": GET[:-2],
    "no request": b"\x16\x03\x01\r\n\r\n",
}


def connections() -> int:
    return sum(type(one) is Protocol for one in gc.get_objects())


@pytest.mark.parametrize("name", SENT)
def test_a_connection_that_is_gone_is_let_go_of(
    name: str, place: Place, near: httpx.Client, uncollected: None
) -> None:
    sent = SENT[name].replace(b"SESSION", declare(near).encode())
    before = connections()
    for number in range(20):
        with socket.create_connection(("127.0.0.1", place.port)) as caller:
            caller.sendall(sent)
            if number % 2 and name != "half a request":  # the others leave before they are answered
                assert caller.recv(1024)
    deadline = time.monotonic() + SOON
    while (held := connections() - before) > 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert held <= 0


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_body_is_let_go_of(name: str, place: Place, near: httpx.Client, uncollected: None) -> None:
    path, body = REFUSED[name]
    assert held_after(place, path.format(declare(near)), body, 400) < SIZE


def test_a_broken_ledger_keeps_nothing_that_is_sent_to_it(
    place: Place, near: httpx.Client, uncollected: None
) -> None:
    session_id = declare(near)
    for name in "abc":
        assert eliminate(near, session_id, name).status_code == 200
    forge(place, session_id)
    assert near.get(f"/v1/sessions/{session_id}/audit").status_code == 422
    body = {**ELIMINATE, "justification": {"l": LONG}}
    assert held_after(place, f"/v1/sessions/{session_id}/eliminate", body, 422) < SIZE


@pytest.mark.anyio
async def test_a_tool_that_fails_keeps_nothing_that_it_was_given(uncollected: None) -> None:
    def fails(given: bytes) -> None:
        raise ValueError(len(given))

    async def call() -> None:
        with pytest.raises(ValueError, match=str(SIZE)):
            await threads.in_thread("who", fails, {"given": bytes(SIZE)})

    await call()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(TIMES):
        await call()
    async with asyncio.timeout(SOON):
        while tracemalloc.get_traced_memory()[0] - before >= SIZE:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
