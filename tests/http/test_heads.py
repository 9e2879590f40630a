"""A head that came before on its connection is not parsed again, and nobody can tell from the answer."""

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from beliefd.http.direct import Verb
from beliefd.http.headers import read_headers
from beliefd.http.heads import LONGEST, MAX_HEADS, Heads
from beliefd.http.protocol import Protocol
from beliefd.http.replies import Reply
from beliefd.kernel.values import Role
from beliefd.protocol.operations import BY_NAME
from beliefd.steward.credentials import create_token
from beliefd.steward.environment import now
from beliefd.stores.sqlite import SqliteStore
from tests.http.calls import declare
from tests.http.raw import Raw, connected
from tests.http.test_direct import BODY, CASES, masked
from tests.support.server import ServerProcess, server_process

VERB = Verb(BY_NAME["eliminate"], None, {"session_id": "s"})
HEAD = b"POST /v1/sessions/s/eliminate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"
HEADERS = [(b"host", b"localhost"), (b"content-length", b"2")]
TIMES = 4


@pytest.mark.parametrize("case", [name for name in CASES if name != "the connection ends"])
def test_the_same_head_again_gets_the_answer_of_the_application(
    case: str, server: ServerProcess, http: httpx.Client
) -> None:
    verb, body, headers = CASES[case]

    def asked(query: str) -> list[Raw]:
        own = {"Idempotency-Key": declare(http)} if case.endswith("with a key") else headers
        path = f"/v1/sessions/{declare(http)}/{verb}{query}"
        answers = []
        with connected(server) as connection:
            for _ in range(TIMES):
                connection.request("POST", path, body, own)
                answers.append(connection.answer())
                if answers[-1].headers.get("connection") == "close":
                    break
        return answers

    assert [masked(one) for one in asked("")] == [masked(one) for one in asked("?")]


def test_a_token_that_is_revoked_is_refused_under_a_head_that_was_good(tmp_path: Path) -> None:
    async def change(revoked: str | None) -> str:
        store = await SqliteStore.open(tmp_path / "beliefd.db")
        try:
            if revoked is None:
                return await create_token(store, "short", Role.AGENT)
            await store.revoke_token(revoked.split("_")[1], now())
            return revoked
        finally:
            await store.close()

    token = asyncio.run(change(None))
    headers = {"Authorization": f"Bearer {token}"}
    with server_process(tmp_path) as server, httpx.Client(base_url=server.url, headers=headers) as http:
        path = f"/v1/sessions/{declare(http)}/eliminate"
        with connected(server) as connection:
            for _ in range(TIMES):
                connection.request("POST", path, BODY, headers)
                assert connection.answer().status == 200
            asyncio.run(change(token))
            until = time.monotonic() + 30
            status = 200
            while status == 200 and time.monotonic() < until:  # who is known is remembered for a moment
                connection.request("POST", path, BODY, headers)
                status = connection.answer().status
    assert status == 401


def test_requests_of_all_kinds_may_follow_a_head_that_came_before(
    server: ServerProcess, http: httpx.Client
) -> None:
    path = f"/v1/sessions/{declare(http)}"
    head = f"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
    post = f"POST {path}/eliminate HTTP/1.1\r\n{head}".encode() + BODY
    get = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    seen = []
    with connected(server) as connection:
        for sent, answers in ((post, 1), (post, 1), (post, 1), (get, 1), (post + get, 2), (post + post, 2)):
            connection.send(sent)
            seen += [connection.answer().json for _ in range(answers)]
        connection.send(post[:-9])
        connection.send(post[-9:] + get)
        seen += [connection.answer().json for _ in range(2)]
    assert [one.get("snapshot", one)["seq"] for one in seen] == [2, 3, 4, 4, 5, 5, 6, 7, 8, 8]


class _Verbs:
    """Answers at once, or leaves it to the application."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.declines = False

    def find(self, _: bytes) -> Verb:
        return VERB

    def begin(self, _: Verb, headers: Any, body: bytes) -> Reply | None:
        told = headers if isinstance(headers, dict) else read_headers(headers)
        assert told["Content-Length"] == "2"
        self.bodies.append(body)
        return None if self.declines else Reply(200, b"{}")

    def count(self, *_: Any) -> None:
        pass


class _Parser:
    """The parser, and how much it was given to read."""

    def __init__(self, parser: Any) -> None:
        self._parser = parser
        self.read = 0

    def feed_data(self, data: bytes) -> None:
        self.read += len(data)
        self._parser.feed_data(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)


class _Transport:
    """Where answers go."""

    def __init__(self) -> None:
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, _: str, default: Any = None) -> Any:
        return default

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: None


def _connection(verbs: _Verbs, started: list[Any]) -> tuple[Protocol, _Parser, _Transport]:
    async def application(scope: Any, receive: Any, send: Any) -> None: ...

    application.verbs = verbs  # type: ignore[attr-defined]

    def start(work: Any, **_: Any) -> Any:
        work.close()
        started.append(work)
        return SimpleNamespace(add_done_callback=lambda _: None)

    timer = SimpleNamespace(cancel=lambda: None)
    loop: Any = SimpleNamespace(
        time=time.monotonic, call_later=lambda *_: timer, create_task=start, call_soon=lambda *_: None
    )
    config = Config(application, log_config=None, lifespan="off", ws="none", proxy_headers=False)
    protocol = Protocol(config, ServerState(), {}, loop)
    transport = _Transport()
    protocol.connection_made(transport)  # type: ignore[arg-type]
    parser = protocol.parser = _Parser(protocol.parser)  # type: ignore[assignment]
    return protocol, parser, transport


def test_the_parser_reads_a_head_until_it_is_known_and_never_a_different_one() -> None:
    verbs = _Verbs()
    protocol, parser, _ = _connection(verbs, [])
    whole = len(HEAD) + 2
    for number in range(5):
        protocol.data_received(HEAD + b"%02d" % number)
    assert verbs.bodies == [b"%02d" % number for number in range(5)]
    assert parser.read == 2 * whole  # the first one on a connection, and the one that is learnt
    protocol.data_received(HEAD.replace(b"localhost", b"elsewhere") + b"{}")
    assert parser.read == 3 * whole
    protocol.data_received(HEAD + b"{}")
    assert parser.read == 3 * whole
    protocol.connection_lost(None)
    assert protocol._heads.find(HEAD + b"{}") is None


def test_what_a_verb_declines_is_asked_of_it_once_and_then_of_the_application() -> None:
    verbs, started = _Verbs(), list[Any]()
    protocol, _, _ = _connection(verbs, started)
    for _ in range(3):
        protocol.data_received(HEAD + b"{}")
    verbs.declines = True
    protocol.data_received(HEAD + b"{}")
    assert len(verbs.bodies) == 4
    assert len(started) == 1


@pytest.mark.parametrize(
    ("data", "headers"),
    [
        (HEAD + b"{}{}", HEADERS),
        (HEAD + b"{", HEADERS),
        (HEAD.replace(b"\r\n", b"\n") + b"{}", HEADERS),
        (HEAD + b"{}", [*HEADERS, (b"host", b"other")]),
        (HEAD + b"{}", [*HEADERS, (b"idempotency-key", b"k")]),
        (HEAD + b"{}", [*HEADERS, (b"transfer-encoding", b"chunked")]),
        (HEAD + b"{}", HEADERS[:1]),
        (b"x" * LONGEST + HEAD + b"{}", HEADERS),
    ],
)
def test_no_head_is_learnt_of_which_the_end_or_the_body_is_in_doubt(data: bytes, headers: Any) -> None:
    heads = Heads()
    heads.learn(data, VERB, headers)
    assert heads.find(data) is None


def test_few_heads_are_kept() -> None:
    heads = Heads()
    sent = [HEAD.replace(b"localhost", b"host%d" % number) + b"{}" for number in range(10 * MAX_HEADS)]
    for one in sent:
        heads.learn(one, VERB, HEADERS)
    assert 0 < sum(heads.find(one) is not None for one in sent) <= MAX_HEADS
    assert heads.find(sent[-1]) is not None
    assert heads.find(sent[-1] + b"x") is None
