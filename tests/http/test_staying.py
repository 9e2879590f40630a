"""Answers that last, and those who take them: judged again, and given up when they have left."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from beliefd.http import bodies, standing
from beliefd.http.bodies import read_body
from beliefd.http.in_flight import Holding, InFlight
from beliefd.kernel.values import Role, Tier
from beliefd.protocol.claims import ClaimRows
from beliefd.protocol.operations import BY_NAME, OPERATIONS
from beliefd.protocol.rights import rights_of
from beliefd.steward import feeds
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.call import Caller
from beliefd.steward.credentials import create_token
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.steward.offload import HEAVY_BYTES, POOLS, in_pool
from beliefd.steward.signin import verifier
from beliefd.stores.base import StorageUnavailable
from beliefd.stores.memory import MemoryStore
from beliefd.stores.sqlite import SqliteStore
from beliefd.wanted import check_wanted
from tests.http.calls import LINES, declare
from tests.http.place import Place
from tests.http.raw import Connection, connected
from tests.support.server import ServerProcess, server_process

SOON = 30


def until(true: Any) -> None:
    deadline = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# -- judged again --------------------------------------------------------------------------------------


class Guarded:
    """A server with one token, which somebody else can revoke."""

    def __init__(self, data: Path) -> None:
        self._path = data / "beliefd.db"
        self.token = asyncio.run(self._make())

    async def _make(self) -> str:
        store = await SqliteStore.open(self._path)
        try:
            self.other = await create_token(store, "other", Role.ADMIN)
            return await create_token(store, "me", Role.AGENT, Tier.DELETE)
        finally:
            await store.close()

    def revoke(self) -> None:
        asyncio.run(self._revoke())

    async def _revoke(self) -> None:
        store = await SqliteStore.open(self._path)
        try:
            await store.revoke_token(self.token.split("_")[1], "2026-01-01T00:00:00.000000Z")
        finally:
            await store.close()


@pytest.fixture
def guarded_one(tmp_path: Path) -> Iterator[tuple[ServerProcess, Guarded]]:
    guard = Guarded(tmp_path)
    with server_process(tmp_path) as process:
        yield process, guard
        assert process.complaints == [], process.output


def test_a_live_feed_is_cut_soon_after_its_token_was_revoked(
    guarded_one: tuple[ServerProcess, Guarded],
) -> None:
    """Without the end that a whole answer has: nobody takes it for all there was."""
    server, guard = guarded_one
    mine = {"Authorization": f"Bearer {guard.token}"}
    with httpx.Client(base_url=server.url, verify=False, headers=mine) as http:
        session_id = declare(http)
    with connected(server) as connection:
        connection.request("GET", f"/v1/sessions/{session_id}/events", headers=mine)
        while not connection.line().startswith(b"data: "):
            pass
        guard.revoke()
        connection.socket.settimeout(feeds.HEARTBEAT_SECONDS / 2)  # no sign of life is due until then
        rest = connection.rest()
        assert b"0\r\n\r\n" not in rest
        assert b"still here" not in rest
    with connected(server) as connection:
        connection.request("GET", f"/v1/sessions/{session_id}/events", headers=mine)
        assert connection.answer().status == 401


@pytest.fixture
def consoled() -> Iterator[Place]:
    opened = Place(console=True)
    yield opened
    opened.close()


@pytest.mark.parametrize("path", ["/v1/sessions/{}/events", "/v1/events", "/live", "/sessions/{}/live"])
def test_a_revocation_itself_cuts_the_feeds_of_its_token(
    consoled: Place, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing looks now and then here: what is heard of the revocation is all there is."""
    place = consoled
    monkeypatch.setattr(standing, "JUDGE_SECONDS", 10 * SOON)
    monkeypatch.setattr(feeds, "HEARTBEAT_SECONDS", 10 * SOON)
    store = place.runtime.steward.store
    boss = {"Authorization": f"Bearer {asyncio.run(create_token(store, 'boss', Role.ADMIN))}"}
    secret = asyncio.run(create_token(store, "me", Role.APPROVER, Tier.DELETE))
    with httpx.Client(base_url=place.url, headers=boss) as http:
        session_id = declare(http)
        mine = {"Authorization": f"Bearer {secret}"}
        if "live" in path:
            own = {"Sec-Fetch-Site": "same-origin"}
            signed_in = http.post("/sign-in", data={"token": secret}, headers=own)
            mine = {"Cookie": signed_in.headers["set-cookie"].partition(";")[0]}
        connection = Connection(place.port)
        connection.request("GET", path.format(session_id), headers=mine)
        assert connection.line() == b"HTTP/1.1 200 OK\r\n"
        until(lambda: place.surface._standing._listeners)
        assert http.delete(f"/v1/tokens/{secret.split('_')[1]}").status_code == 200
        connection.socket.settimeout(SOON)
        assert b"0\r\n\r\n" not in connection.rest()
        connection.close()


@pytest.mark.anyio
async def test_who_may_see_less_than_before_is_cut_off_as_who_is_revoked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(standing, "JUDGE_SECONDS", 10 * SOON)
    runtime = bootstrap(MemoryStore())
    operation = BY_NAME["follow_inbox"]
    before = Caller(LOCAL_OPERATOR, rights_of(Role.AGENT, "default=read lab=read"))
    after = Caller(LOCAL_OPERATOR, rights_of(Role.AGENT, "default=read"))
    now = before

    async def judge() -> Caller:
        return now

    everybody = standing.Standing(runtime.directory.refresh, runtime.feeds)
    with everybody.of(judge, operation, before) as over, everybody.of(judge, operation, after) as other:
        now = after
        await asyncio.sleep(0)  # the one who judges begins to listen
        await runtime.system.make_space("lab", LOCAL_OPERATOR)
        async with asyncio.timeout(SOON):
            await over.wait()
        assert not other.is_set()


def test_what_no_event_tells_is_seen_within_a_second() -> None:
    assert standing.JUDGE_SECONDS + standing.LEAST_SECONDS + verifier.LOOK_SECONDS < 1


def test_who_waits_for_a_decision_is_told_soon_after_the_token_was_revoked(
    guarded_one: tuple[ServerProcess, Guarded],
) -> None:
    server, guard = guarded_one
    mine = {"Authorization": f"Bearer {guard.token}"}
    with httpx.Client(base_url=server.url, verify=False, headers=mine) as http:
        path = f"/v1/sessions/{declare(http)}/claims"
        judged = http.post(path, json=ClaimRows.submit_claims.example).json()
    with connected(server) as connection:
        connection.request("GET", f"/v1/approvals/{judged['approval_id']}?wait=60", headers=mine)
        connection.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            connection.socket.recv(1)
    with connected(server) as connection:
        connection.request("GET", f"/v1/approvals/{judged['approval_id']}?wait=60", headers=mine)
        guard.revoke()
        told = connection.answer()
        assert (told.status, told.json["error"]["code"]) == (401, "UNAUTHORIZED")


def test_a_batch_ends_where_its_token_was_revoked(guarded_one: tuple[ServerProcess, Guarded]) -> None:
    """Nobody reads its answers, so most of its lines are still to be decided."""
    server, guard = guarded_one
    mine = {"Authorization": f"Bearer {guard.token}"}
    line = b'{"verb":"ELIMINATE","source_id":"s","observation_id":"o","eliminated":[],"justification":{}}\n'
    with httpx.Client(base_url=server.url, verify=False, headers=mine) as http:
        session_id = declare(http)
    with connected(server) as connection:
        lines = line * 60_000
        connection.request("POST", f"/v1/sessions/{session_id}/batch", lines, {**mine, **LINES})
        assert connection.line().startswith(b"HTTP/1.1 200")
        guard.revoke()
        answers = 0
        try:
            while got := connection.line():
                time.sleep(0.0005)
                answers += got.startswith(b"{")
        except ConnectionResetError:
            pass
    assert answers < 60_000


def test_a_body_that_was_still_coming_in_when_its_token_was_revoked_is_refused(
    guarded_one: tuple[ServerProcess, Guarded],
) -> None:
    server, guard = guarded_one
    mine = {"Authorization": f"Bearer {guard.token}"}
    line = b'{"verb":"ELIMINATE","source_id":"s","observation_id":"o","eliminated":[],"justification":{}}\n'
    with httpx.Client(base_url=server.url, verify=False, headers=mine) as http:
        session_id = declare(http)

        def sent_slowly() -> Iterator[bytes]:
            yield line
            time.sleep(0.2)  # it has begun to be read
            guard.revoke()
            time.sleep(1.5)  # what a server knows of tokens is a second old at most
            yield line

        told = http.post(f"/v1/sessions/{session_id}/batch", content=sent_slowly(), headers=LINES)
        assert (told.status_code, told.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    with httpx.Client(base_url=server.url, verify=False) as http:
        http.headers["Authorization"] = f"Bearer {guard.other}"
        assert len(http.get(f"/v1/sessions/{session_id}/audit").json()["events"]) == 1


def test_a_line_that_still_waits_when_its_token_was_revoked_is_refused(place: Place) -> None:
    """What has to be found out for it takes its time; it is decided for whom may ask by then."""
    store, finder = place.runtime.steward.store, place.runtime.steward.finder
    boss = {"Authorization": f"Bearer {asyncio.run(create_token(store, 'boss', Role.ADMIN))}"}
    secret = asyncio.run(create_token(store, "me", Role.AGENT, Tier.DELETE))
    looking, go_on, find = threading.Event(), threading.Event(), finder.findings

    async def slowly(*given: Any) -> Any:
        looking.set()
        await asyncio.to_thread(go_on.wait, SOON)
        return await find(*given)

    with httpx.Client(base_url=place.url, headers=boss) as http:
        connection = Connection(place.port)
        session_id = declare(http)
        finder.findings = slowly  # type: ignore[method-assign,assignment]
        line = json.dumps({"verb": "SUBMIT_CLAIMS", **ClaimRows.submit_claims.example}).encode()
        mine = {"Authorization": f"Bearer {secret}", **LINES}
        connection.request("POST", f"/v1/sessions/{session_id}/batch", line + b"\n" + line, mine)
        assert looking.wait(SOON)
        assert http.delete(f"/v1/tokens/{secret.split('_')[1]}").status_code == 200
        go_on.set()
        until(lambda: not place.runtime.steward.queues)
        connection.close()
        assert len(http.get(f"/v1/sessions/{session_id}/audit").json()["events"]) == 1


def test_feeds_stay_while_the_store_is_away_and_nothing_was_revoked(place: Place, near: httpx.Client) -> None:
    session_id = declare(near)
    asked = threading.Event()

    async def away() -> Any:
        asked.set()
        raise StorageUnavailable("away")

    connection = Connection(place.port)
    connection.request("GET", f"/v1/sessions/{session_id}/events")
    assert connection.line() == b"HTTP/1.1 200 OK\r\n"
    place.runtime.steward.store.tokens = away  # type: ignore[method-assign]
    assert asked.wait(SOON)
    asked.clear()
    assert asked.wait(SOON)
    connection.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        connection.rest()
    place.runtime.feeds.end()
    connection.close()


# -- left ----------------------------------------------------------------------------------------------


def test_a_question_is_given_up_when_its_caller_leaves(place: Place, near: httpx.Client) -> None:
    session_id = declare(near)
    begun, ended = threading.Event(), threading.Event()

    def long() -> None:
        begun.set()
        try:
            while True:
                check_wanted()
                time.sleep(0.001)
        finally:
            ended.set()

    async def verify(_: Any) -> Any:
        await in_pool("question", long)

    place.runtime.handlers["verify"] = verify
    connection = Connection(place.port)
    connection.request("GET", f"/v1/sessions/{session_id}/audit/verify")
    assert begun.wait(SOON)
    connection.close()
    assert ended.wait(SOON)
    until(lambda: POOLS["question"].running == 0)


def test_a_measurement_of_long_answers_is_given_up_when_its_caller_leaves(
    place: Place,
) -> None:
    """Comparing all of them would take minutes."""
    words = [f"w{number}" for number in range(900)]
    answers = [" ".join(words[number:] + words[:number]) for number in range(200)]
    connection = Connection(place.port)
    body = httpx.Request("POST", "http://x", json={"answers": answers}).content
    connection.request("POST", "/v1/uncertainty/semantic_entropy", body)
    until(lambda: POOLS["measure"].running == 1)
    connection.close()
    until(lambda: POOLS["measure"].running == 0)


async def _body_of(chunks: list[bytes]) -> bytes:
    left = iter(chunks)

    async def receive() -> dict[str, Any]:
        chunk = next(left, None)
        return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}

    [store_content] = [row for row in OPERATIONS if row.name == "store_content"]
    body: bytes = await read_body(store_content, {}, receive, Holding(InFlight()))
    return body


@pytest.mark.parametrize(("size", "beside"), [(10, False), (HEAVY_BYTES, True)])
def test_the_pieces_of_a_large_body_are_joined_beside_the_event_loop(
    size: int, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined: list[bool] = []

    async def noted(heavy: bool, work: Any, *args: Any, **_: Any) -> Any:
        joined.append(heavy)
        return work(*args)

    monkeypatch.setattr(bodies, "offload", noted)
    assert asyncio.run(_body_of([b"x" * size, b"y" * size])) == b"x" * size + b"y" * size
    assert joined == [beside]


@pytest.mark.parametrize(("size", "returned"), [(1_000, []), (bodies.LARGE, [0])])
def test_the_pieces_of_a_large_body_are_let_go_before_anything_is_built_of_it(
    size: int, returned: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks = [b"x" * size, b"y"]
    held: list[int] = []
    monkeypatch.setattr(bodies, "return_small_pieces", lambda: held.append(len(chunks)))
    assert bodies._joined(chunks) == b"x" * size + b"y"
    assert (held, chunks) == (returned, [])
