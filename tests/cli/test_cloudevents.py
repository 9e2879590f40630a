"""`audit export --cloudevents`: every event, in order, to stdout, a file or an address."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from beliefd.steward.effects.webhook import signature
from beliefd.steward.effects.webhook_secret import secret_from
from tests.cli.runner import answer, beliefd, process
from tests.conformance.surfaces import Server

REQUIRED = {"specversion", "id", "source", "type"}


@pytest.fixture
def session(tmp_path: Path) -> str:
    found = answer("session", "declare", "a", "b", "c", "--data", tmp_path)["session_id"]
    eliminate(found, "a", "--data", tmp_path)
    return str(found)


def eliminate(session: str, name: str, *where: str | Path) -> None:
    answer("session", "eliminate", session, name, "--source", "s", "--observation", name, *where)


def lines(text: str | bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


class Receiver:
    """Takes events, after it has refused some."""

    def __init__(self, refusals: int = 0) -> None:
        self.events: list[dict[str, Any]] = []
        self.media: set[str] = set()
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.refusals = refusals
        self.grown = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver.grown:
                    refused, receiver.refusals = receiver.refusals > 0, receiver.refusals - 1
                    if not refused:
                        receiver.media.add(self.headers["Content-Type"])
                        receiver.events.append(json.loads(body))
                        receiver.heard.append((dict(self.headers.items()), body))
                    receiver.grown.notify_all()
                self.send_response(503 if refused else 204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return None

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/events"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait_for(self, count: int) -> None:
        with self.grown:
            assert self.grown.wait_for(lambda: len(self.events) >= count, 60), self.events


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_entries_come_as_events_with_what_was_recorded(session: str, tmp_path: Path) -> None:
    told = lines(beliefd("audit", "export", session, "--cloudevents", "--data", tmp_path).stdout_bytes)
    recorded = answer("audit", "show", session, "--data", tmp_path)["events"]
    assert [one["data"] for one in told] == recorded
    first = told[0]
    assert first.keys() >= REQUIRED
    assert first["specversion"] == "1.0"
    assert first["type"] == "beliefd.audit.declared"
    assert first["source"] == f"/v1/sessions/{session}"
    assert [one["sequence"] for one in told] == ["1", "2"]
    assert all(name.isalnum() and name == name.lower() for one in told for name in one)
    rest = beliefd("audit", "export", session, "--cloudevents", "--since", first["id"], "--data", tmp_path)
    assert lines(rest.stdout_bytes) == told[1:]


def test_a_file_is_gone_on_with_and_holds_every_event_once(session: str, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    words = ("audit", "export", session, "--cloudevents", "-o", file, "--data", tmp_path)
    assert answer(*words)["events"] == 2
    assert answer(*words)["events"] == 0
    eliminate(session, "b", "--data", tmp_path)
    assert answer(*words)["events"] == 1
    assert [one["sequence"] for one in lines(file.read_text())] == ["1", "2", "3"]
    assert file.stat().st_mode & 0o077 == 0
    file.write_bytes(file.read_bytes()[:-10])
    assert "does not end with a CloudEvent" in beliefd(*words).output


def test_what_is_not_taken_is_sent_again_and_nothing_overtakes_it(
    session: str, tmp_path: Path, receiver: Receiver
) -> None:
    receiver.refusals = 2
    told = answer("audit", "export", session, "--cloudevents", "--post", receiver.url, "--data", tmp_path)
    assert told["events"] == 2
    assert [one["sequence"] for one in receiver.events] == ["1", "2"]
    assert told["last_event_id"] == receiver.events[-1]["id"]
    assert receiver.media == {"application/cloudevents+json"}


def test_a_receiver_that_is_away_is_named_with_the_event(
    session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beliefd.cli.cloudevents.TRIES", 1)
    away = "http://127.0.0.1:9/"
    result = beliefd("audit", "export", session, "--cloudevents", "--post", away, "--data", tmp_path)
    assert result.exit_code == 1
    assert f"`{away}` does not take event" in result.output


def test_a_ledger_is_followed_to_an_address(tmp_path: Path, receiver: Receiver) -> None:
    server = Server(tmp_path / "a")
    try:
        where = ("--url", server.url, "--token", server.tokens["agent", "PRIVILEGE"])
        session = answer("session", "declare", "a", "b", *where)["session_id"]
        words = ("audit", "export", session, "--cloudevents", "--follow", "--post", receiver.url, *where)
        following = process(*words)
        try:
            receiver.wait_for(1)
            eliminate(session, "a", *where)
            receiver.wait_for(2)
        finally:
            following.terminate()
            following.communicate(timeout=60)
        assert [one["type"] for one in receiver.events] == [
            "beliefd.audit.declared",
            "beliefd.audit.eliminated",
        ]
    finally:
        server.close()


def test_options_that_go_with_it_are_refused_without_it(session: str, tmp_path: Path) -> None:
    assert beliefd("audit", "export", session, "--follow", "--data", tmp_path).exit_code == 2
    both = ("--post", "http://127.0.0.1:9", "-o", tmp_path / "x")
    assert beliefd("audit", "export", session, "--cloudevents", *both, "--data", tmp_path).exit_code == 2


def test_all_sessions_go_into_one_file_each_in_its_order_and_it_is_gone_on_with(
    session: str, tmp_path: Path
) -> None:
    other = answer("session", "declare", "x", "y", "--data", tmp_path)["session_id"]
    file = tmp_path / "events.jsonl"
    words = ("audit", "export", "--all", "--cloudevents", "-o", file, "--data", tmp_path)
    assert answer(*words)["events"] == 3
    assert answer(*words)["events"] == 0
    for name in (session, other):
        eliminate(name, "b" if name == session else "x", "--data", tmp_path)
    assert answer(*words)["events"] == 2
    for name in (session, other):
        recorded = answer("audit", "show", name, "--data", tmp_path)["events"]
        told = [one["data"] for one in lines(file.read_bytes()) if one["data"]["session_id"] == name]
        assert told == recorded
    printed = beliefd("audit", "export", "--all", "--cloudevents", "--data", tmp_path).stdout_bytes
    assert len(lines(printed)) == 5


def test_all_sessions_are_followed_to_an_address_that_can_check_who_sends(
    tmp_path: Path, receiver: Receiver
) -> None:
    server, key, seen = Server(tmp_path / "a"), tmp_path / "webhook.key", tmp_path / "seen"
    try:
        where = ("--url", server.url, "--token", server.tokens["agent", "PRIVILEGE"])
        first = answer("session", "declare", "a", "b", *where)["session_id"]
        to = ("--post", receiver.url, "--webhook-key", key, "--seen", seen)
        words = ("audit", "export", "--all", "--cloudevents", *to, *where)
        assert answer(*words)["events"] == 1
        following = process(*words, "--follow")
        try:
            second = answer("session", "declare", "c", "d", *where)["session_id"]
            eliminate(first, "a", *where)
            receiver.wait_for(3)
        finally:
            following.terminate()
            following.communicate(timeout=60)
        told = [(one["data"]["session_id"], one["sequence"]) for one in receiver.events]
        assert sorted(told) == sorted([(first, "1"), (first, "2"), (second, "1")])
        for headers, body in receiver.heard:
            at = int(headers["webhook-timestamp"])
            assert headers["webhook-id"] == json.loads(body)["id"]
            made = signature(secret_from(key), headers["webhook-id"], at, body)
            assert headers["webhook-signature"] == made
        # What was taken just when it was stopped may come again.
        assert answer(*words)["events"] <= 1
        assert answer(*words)["events"] == 0
        assert seen.stat().st_mode & 0o077 == 0
    finally:
        server.close()


@pytest.mark.parametrize(
    "words",
    [
        ("--all", "SESSION"),
        ("--all", "--since", "x"),
        (),
        ("--all", "--seen", "x"),
        ("SESSION", "--post", "http://127.0.0.1:9", "--seen", "x"),
        ("SESSION", "--webhook-key", "x"),
    ],
)
def test_what_does_not_go_together_is_refused(session: str, tmp_path: Path, words: tuple[str, ...]) -> None:
    given = [session if word == "SESSION" else word for word in words]
    assert beliefd("audit", "export", "--cloudevents", *given, "--data", tmp_path).exit_code == 2
