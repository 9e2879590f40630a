"""What takes long or breaks inside: silence, heartbeats and defects, on a server whose clocks run faster."""

import asyncio
import json
import logging
import time
from typing import Any

import httpx
import pytest

from beliefd.http import protocol
from beliefd.kernel.errors import Code
from beliefd.steward import feeds
from tests.http.calls import ELIMINATE, declare, eliminate, error_of
from tests.http.place import KEEP_ALIVE, SILENCE, Place
from tests.http.raw import Connection

HEARTBEAT = 0.1


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "SILENCE_SECONDS", SILENCE)
    monkeypatch.setattr(feeds, "HEARTBEAT_SECONDS", HEARTBEAT)


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
