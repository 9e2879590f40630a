"""The live feed: every entry once and in order, for each listener, across reconnects, until the end."""

import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from beliefd.kernel.errors import Code
from tests.http.calls import ELIMINATE, declare, eliminate, error_of
from tests.http.raw import Connection, connected
from tests.support.server import ServerProcess, server_process


class Listener:
    """Reads a feed entry by entry."""

    def __init__(self, server: ServerProcess, session_id: str, last: int | None = None) -> None:
        self.connection = Connection(server.port)
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        self.connection.request("GET", f"/v1/sessions/{session_id}/events", headers=headers)
        assert self.connection.line() == b"HTTP/1.1 200 OK\r\n"
        while self.connection.line() != b"\r\n":
            pass
        self._buffer = b""

    def entry(self) -> dict[str, Any]:
        """The next entry; comments are skipped."""
        while True:
            block = self._block()
            fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if not line.startswith(b":"))
            if fields:
                entry: dict[str, Any] = json.loads(fields[b"data"])
                assert fields[b"event"] == b"audit"
                assert int(fields[b"id"]) == entry["seq"]
                return entry

    def _block(self) -> bytes:
        while b"\n\n" not in self._buffer:
            piece = self.connection.piece()
            assert piece, "the feed ended"
            self._buffer += piece
        block, _, self._buffer = self._buffer.partition(b"\n\n")
        return block

    def close(self) -> None:
        self.connection.close()


def entries(http: httpx.Client, session_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = http.get(f"/v1/sessions/{session_id}/audit").json()["events"]
    return found


def test_the_feed_starts_with_the_past_and_goes_on_with_the_present(
    server: ServerProcess, http: httpx.Client, session_id: str
) -> None:
    eliminate(http, session_id, "a")
    listener = Listener(server, session_id)
    heard = [listener.entry(), listener.entry()]
    eliminate(http, session_id, "b")
    heard.append(listener.entry())
    listener.close()
    assert heard == entries(http, session_id)


def test_the_answer_says_what_it_is(server: ServerProcess, session_id: str) -> None:
    with connected(server) as connection:
        connection.request("GET", f"/v1/sessions/{session_id}/events")
        headers = connection.answer(head_only=True).headers
    assert headers["content-type"] == "text/event-stream"
    assert headers["cache-control"] == "no-store"


def test_listeners_that_drop_off_resume_without_gap_or_repetition_while_others_write(
    server: ServerProcess, http: httpx.Client, session_id: str
) -> None:
    total = 400

    def write() -> None:
        with httpx.Client(base_url=server.url, verify=False, timeout=60) as writer:
            for _ in range(total // 4):
                writer.post(f"/v1/sessions/{session_id}/eliminate", json=ELIMINATE)

    writers = [threading.Thread(target=write) for _ in range(4)]
    heard: list[list[int]] = [[], [], []]

    def listen(seqs: list[int], stay: int) -> None:
        while len(seqs) < total + 1:
            listener = Listener(server, session_id, seqs[-1] if seqs else None)
            for _ in range(min(stay, total + 1 - len(seqs))):
                seqs.append(listener.entry()["seq"])
            listener.close()

    listeners = [threading.Thread(target=listen, args=(seqs, 7 + 20 * i)) for i, seqs in enumerate(heard)]
    for thread in writers + listeners:
        thread.start()
    for thread in writers + listeners:
        thread.join(120)
    assert heard == [list(range(1, total + 2))] * 3


@pytest.mark.parametrize("last", ["-1", "x", "1.0", "99", "", "1,1", "9" * 30])
def test_a_place_that_is_not_in_the_ledger_is_refused(last: str, http: httpx.Client, session_id: str) -> None:
    answer = http.get(f"/v1/sessions/{session_id}/events", headers={"Last-Event-ID": last})
    assert error_of(answer, 400, Code.INVALID_REQUEST)["details"]["path"] == "Last-Event-ID"


def test_a_feed_of_nothing_is_not_found(http: httpx.Client) -> None:
    error_of(http.get("/v1/sessions/nowhere/events"), 404, Code.SESSION_NOT_FOUND)


def test_a_slow_listener_holds_up_nobody(server: ServerProcess, http: httpx.Client) -> None:
    session_id = declare(http)
    sleeper = Listener(server, session_id)
    big = {**ELIMINATE, "justification": {"log": "x" * 100_000}}
    for _ in range(60):  # more than any socket buffer takes
        assert http.post(f"/v1/sessions/{session_id}/eliminate", json=big).status_code == 200
    assert [sleeper.entry()["seq"] for _ in range(61)] == list(range(1, 62))
    sleeper.close()


def test_a_server_that_stops_ends_its_feeds_at_once_and_cleanly(tmp_path: Path) -> None:
    with server_process(tmp_path) as server, httpx.Client(base_url=server.url, verify=False) as http:
        session_id = declare(http)
        listeners = [Listener(server, session_id) for _ in range(3)]
        for listener in listeners:
            assert listener.entry()["seq"] == 1
        server.stop()
        for listener in listeners:
            lines = []
            while line := listener.connection.line():
                lines.append(line)
            assert lines[-2:] == [b"0\r\n", b"\r\n"]  # the last chunk: nothing was cut off
            listener.close()
        assert server.complaints == []
