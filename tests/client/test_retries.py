"""Clients that try again, against a server that fails as it is told."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from beliefd.client import AsyncClient, Client
from beliefd.kernel.errors import BeliefdError, Code

AWAY = {"error": {"code": "STORAGE_UNAVAILABLE", "message": "the disk is full"}}
BUSY = {"error": {"code": "INTERNAL", "message": "slow down"}}
Failure = Callable[["Handler"], None]


class Flaky(ThreadingHTTPServer):
    """Fails as often as it is told, then answers; and notes what it heard."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.failures: list[Failure] = []
        self.answer: Any = {"grants": []}
        self.heard: list[tuple[str, str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def keys(self) -> list[str | None]:
        return [headers.get("idempotency-key") for _, _, headers in self.heard]

    def handle_error(self, *_: Any) -> None:
        """Connections are broken on purpose."""


class Handler(BaseHTTPRequestHandler):
    server: Flaky

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        named = {name.lower(): value for name, value in self.headers.items()}
        self.server.heard.append((self.command, self.path, named))
        if self.server.failures:
            self.server.failures.pop(0)(self)
        else:
            self.reply(200, self.server.answer)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - so named by http.server

    def reply(self, status: int, body: Any) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Silent."""


def away(handler: Handler) -> None:
    handler.reply(503, AWAY)


def busy(handler: Handler) -> None:
    handler.reply(429, BUSY)


def broken(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.close()


def refused(handler: Handler) -> None:
    handler.reply(409, {"error": {"code": "CONFLICT", "message": "somebody was faster"}})


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Iterator[Flaky]:
    monkeypatch.setattr("beliefd.client.waiting.FIRST_PAUSE", 0.001)
    server = Flaky()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("failure", [away, busy, broken])
def test_what_may_pass_is_tried_again(flaky: Flaky, failure: Failure) -> None:
    flaky.failures = [failure, failure]
    with Client(flaky.url, retries=2) as client:
        assert client.list_grants("s").grants == []
    assert len(flaky.heard) == 3


@pytest.mark.parametrize(
    ("failure", "code"),
    [(away, Code.STORAGE_UNAVAILABLE), (busy, Code.INTERNAL), (broken, Code.STORAGE_UNAVAILABLE)],
)
def test_the_last_failure_is_told_when_no_try_is_left(flaky: Flaky, failure: Failure, code: Code) -> None:
    flaky.failures = [failure] * 3
    with Client(flaky.url, retries=1) as client, pytest.raises(BeliefdError) as raised:
        client.list_grants("s")
    assert raised.value.code is code
    assert len(flaky.heard) == 2


@pytest.mark.parametrize("failure", [away, busy, broken, refused])
def test_nothing_is_tried_again_unasked(flaky: Flaky, failure: Failure) -> None:
    flaky.failures = [failure]
    with Client(flaky.url) as client, pytest.raises(BeliefdError):
        client.list_grants("s")
    assert len(flaky.heard) == 1


def test_what_was_decided_is_not_asked_again(flaky: Flaky) -> None:
    flaky.failures = [refused]
    with Client(flaky.url, retries=5) as client, pytest.raises(BeliefdError) as raised:
        client.list_grants("s")
    assert raised.value.code is Code.CONFLICT
    assert len(flaky.heard) == 1


def remembered(client: Client, key: str | None = None) -> None:
    client.remember("s", {"memory_id": "m"}, idempotency_key=key)


@pytest.fixture
def memory(flaky: Flaky) -> Flaky:
    entry = {"memory_id": "m", "kind": "hypothesis", "value": "v", "confidence": 0.5, "ttl_ms": 1}
    view = {"entry": entry, "confirmed": False, "remembered_at": "", "expires_at": None, "review_due": False}
    flaky.answer = {"memory": view, "audit_event_id": "e"}
    return flaky


def test_a_write_is_repeated_under_one_key_that_is_made_for_it(memory: Flaky) -> None:
    memory.failures = [broken, away]
    with Client(memory.url, retries=2) as client:
        remembered(client)
        first = memory.keys
        remembered(client)
    assert len(first) == 3
    assert len(set(first)) == 1
    assert first[0]
    assert memory.keys[3] not in (None, first[0]), "another call, another key"


def test_a_key_of_the_caller_s_own_is_kept(memory: Flaky) -> None:
    memory.failures = [broken]
    with Client(memory.url, retries=1) as client:
        remembered(client, "mine")
    assert memory.keys == ["mine", "mine"]


def test_without_retries_no_key_is_made(memory: Flaky) -> None:
    with Client(memory.url) as client:
        remembered(client)
    assert memory.keys == [None]


@pytest.mark.parametrize("failure", [away, busy, broken])
def test_a_write_that_heeds_no_key_is_never_repeated(flaky: Flaky, failure: Failure) -> None:
    flaky.failures = [failure]
    with Client(flaky.url, retries=5) as client, pytest.raises(BeliefdError):
        client.store_content(b"evidence")
    assert flaky.keys == [None]


def test_a_question_with_a_body_is_repeated_without_a_key(flaky: Flaky) -> None:
    flaky.failures = [broken]
    flaky.answer = {
        "without_source_ids": [],
        "without_principals": [],
        "without_attested": False,
        "rests_on": {"witnessed": 0, "attested": 0},
        "survivors": [],
        "n_survivors": 0,
        "restored": [],
        "n_restored": 0,
        "n_conclusions": 0,
        "conclusions_next": None,
        "status": "open",
        "conclusions": [],
    }
    with Client(flaky.url, retries=1) as client:
        client.counterfactual("s", without_source_ids=["x"])
    assert flaky.keys == [None, None]


def test_the_asynchronous_client_does_the_same(memory: Flaky) -> None:
    async def story() -> None:
        async with AsyncClient(memory.url, retries=2) as client:
            await client.remember("s", {"memory_id": "m"})

    memory.failures = [broken, away]
    asyncio.run(story())
    assert len(memory.keys) == 3
    assert len(set(memory.keys)) == 1
    assert memory.keys[0]


def test_an_answer_that_takes_too_long_is_not_asked_for_again(flaky: Flaky) -> None:
    late = threading.Event()
    flaky.failures = [lambda _: (bool(late.wait(60)) and None) or None]
    with Client(flaky.url, timeout=0.05, retries=3) as client, pytest.raises(BeliefdError) as raised:
        client.list_grants("s")
    assert raised.value.code is Code.STORAGE_UNAVAILABLE
    deadline = time.monotonic() + 30
    while not flaky.heard:  # what was sent may be read later than the client waits
        assert time.monotonic() < deadline
        time.sleep(0.001)
    late.set()
    assert len(flaky.heard) == 1


def feed_of(*seqs: int) -> bytes:
    told = [f"id: {seq}\nevent: audit\ndata: {json.dumps({'seq': seq})}\n\n" for seq in seqs]
    return (": beliefd\n\n" + "".join(told)).encode()


def test_a_feed_that_was_lost_goes_on_after_the_last_entry(flaky: Flaky) -> None:
    flaky.failures = [
        lambda handler: handler.reply(200, feed_of(4, 5)),
        broken,
        away,
        lambda handler: handler.reply(200, feed_of(6)),
    ]
    with Client(flaky.url, retries=3) as client:
        coming = client.events("s", after=3)
        assert [next(coming)["seq"] for _ in range(3)] == [4, 5, 6]
        coming.close()
    assert [headers.get("last-event-id") for _, _, headers in flaky.heard] == ["3", "5", "5", "5"]


def test_a_feed_that_was_lost_is_an_error_without_retries(flaky: Flaky) -> None:
    flaky.answer = feed_of(1)

    async def story() -> list[int]:
        async with AsyncClient(flaky.url) as client:
            coming = client.events("s")
            seen = [(await anext(coming))["seq"]]
            with pytest.raises(BeliefdError, match="has ended the feed"):
                await anext(coming)
            return seen

    assert asyncio.run(story()) == [1]
    assert "last-event-id" not in flaky.heard[0][2]
