"""What takes long or breaks inside: silence, heartbeats and defects, on a server whose clocks run faster."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import uvicorn

from beliefd.cli.server import bind, uvicorn_settings
from beliefd.http import protocol
from beliefd.http.app import create_app
from beliefd.kernel.errors import Code
from beliefd.steward import feeds
from beliefd.steward.bootstrap import bootstrap
from beliefd.stores.memory import MemoryStore
from tests.http.calls import ELIMINATE, declare, eliminate, error_of
from tests.http.raw import Connection

SILENCE = 0.3
KEEP_ALIVE = 1
HEARTBEAT = 0.1


class Place:
    """A server in a thread of this process; just enough of a `ServerProcess` to connect to."""

    def __init__(self) -> None:
        self._listener = bind("127.0.0.1", 0)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        while self._server is None or not self._server.started:
            time.sleep(0.01)

    async def _serve(self) -> None:
        self.runtime = bootstrap(MemoryStore())
        settings = {**uvicorn_settings(), "timeout_keep_alive": KEEP_ALIVE}
        self._server = uvicorn.Server(uvicorn.Config(create_app(self.runtime), **settings))
        await self._server.serve(sockets=[self._listener])

    @property
    def server(self) -> uvicorn.Server:
        assert self._server is not None
        return self._server

    def close(self) -> None:
        self.server.should_exit = True
        self._thread.join()


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr(protocol, "SILENCE_SECONDS", SILENCE)
    monkeypatch.setattr(feeds, "HEARTBEAT_SECONDS", HEARTBEAT)
    made = Place()
    yield made
    made.close()


@pytest.fixture
def near(place: Place) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=place.url, verify=False) as http:
        yield http


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET /heal",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n{",
    ],
    ids=["before", "in the line", "in the headers", "in the body"],
)
def test_a_caller_that_falls_silent_in_a_request_is_let_go(beginning: bytes, place: Place) -> None:
    connection = Connection(place.port)
    connection.send(beginning)
    assert connection.is_closed()
    connection.close()


@pytest.mark.parametrize("query", ["", "?"], ids=["answered directly", "by the application"])
def test_a_connection_that_nobody_uses_any_more_is_closed(
    query: str, place: Place, near: httpx.Client
) -> None:
    path = f"/v1/sessions/{declare(near)}/eliminate{query}"
    connection = Connection(place.port)
    for _ in range(3):  # a pause between requests is not yet the end
        connection.request("POST", path, json.dumps(ELIMINATE).encode())
        assert connection.answer().status == 200
        time.sleep(0.5 * KEEP_ALIVE)
    assert connection.is_closed()
    connection.close()


def test_a_caller_that_waits_for_an_endless_answer_is_not_and_hears_a_heartbeat(
    place: Place, near: httpx.Client
) -> None:
    session_id = declare(near)
    connection = Connection(place.port)
    connection.request("GET", f"/v1/sessions/{session_id}/events")
    assert connection.line() == b"HTTP/1.1 200 OK\r\n"
    eliminate(near, session_id, "a")  # the feed rests again after it has told this
    beats = 0
    while beats < 2 * SILENCE / HEARTBEAT:
        line = connection.line()
        assert line, "the feed was cut"
        beats += line == b": still here\n"
    place.runtime.feeds.end()
    connection.close()


def test_a_defect_is_logged_and_shown_to_nobody(
    place: Place, near: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("the secret ingredient is salt")

    monkeypatch.setitem(place.runtime.handlers, "list_sessions", broken)
    with caplog.at_level(logging.ERROR, "beliefd.http"):
        answer = near.get("/v1/sessions")
    error = error_of(answer, 500, Code.INTERNAL)
    assert "salt" not in answer.text
    assert "salt" in caplog.text
    assert "details" not in error


def test_a_store_that_is_away_is_named_as_such(place: Place, near: httpx.Client) -> None:
    session_id = declare(near)
    asyncio.run(place.runtime.steward.store.close())
    answer = eliminate(near, session_id, "a")
    error_of(answer, 503, Code.STORAGE_UNAVAILABLE)
    assert int(answer.headers["retry-after"]) > 0
    assert near.get("/healthz").status_code == 200
