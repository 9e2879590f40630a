"""Feeds and waiting, on a real server and in the library; and where a client looks when nobody tells it."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import beliefd
from beliefd.client import AsyncClient, Calls, Client
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.protocol.claims import ClaimRows
from beliefd.steward.directory import LOCAL_OPERATOR
from tests.client.test_methods import ONTOLOGY
from tests.http.conftest import make_tokens
from tests.support.server import server_process

ANA = Principal(id="human://ana", role=Role.APPROVER, tier=Tier.PRIVILEGE.name)
Pair = tuple[Calls, Calls]
"""Who asks, and who may decide."""


@contextmanager
def in_the_library(path: Path) -> Iterator[Pair]:
    name = path / "beliefd.db"
    with (
        beliefd.open(name, principal=LOCAL_OPERATOR) as asking,
        beliefd.open(name, principal=ANA) as deciding,
    ):
        yield asking, deciding


@contextmanager
def at_a_server(path: Path) -> Iterator[Pair]:
    tokens = asyncio.run(make_tokens(path / "beliefd.db"))
    with (
        server_process(path) as server,
        Client(server.url, tokens[Role.ADMIN]) as asking,
        Client(server.url, tokens[Role.APPROVER]) as deciding,
    ):
        yield asking, deciding


@pytest.fixture(params=[in_the_library, at_a_server])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    with request.param(tmp_path) as found:
        yield found


def eliminate(calls: Calls, session_id: str, name: str) -> None:
    calls.eliminate(session_id, source_id="s", observation_id="o", eliminated=[name])


def test_a_feed_tells_the_past_and_then_what_happens(pair: Pair) -> None:
    calls, other = pair
    session_id = calls.declare_session(["a", "b", "c"], ONTOLOGY).session_id
    eliminate(calls, session_id, "a")
    with closing(calls.events(session_id)) as coming:
        assert [next(coming)["seq"] for _ in range(2)] == [1, 2]
        eliminate(other, session_id, "b")
        entry = next(coming)
        assert (entry["seq"], entry["delta"]["eliminated"]) == (3, ["b"])
    with closing(calls.events(session_id, after=2)) as coming:
        assert next(coming) == entry
    with closing(calls.events(session_id, after=0)) as coming:
        assert next(coming)["seq"] == 1


def test_a_feed_of_nothing_is_an_error(pair: Pair) -> None:
    calls, _ = pair
    with pytest.raises(BeliefdError) as raised:
        next(calls.events("nowhere"))
    assert raised.value.code is Code.SESSION_NOT_FOUND
    session_id = calls.declare_session(["a"], ONTOLOGY).session_id
    with pytest.raises(BeliefdError) as raised:
        next(calls.events(session_id, after=99))
    assert raised.value.code is Code.INVALID_REQUEST


def test_the_inbox_is_followed_from_now_on(pair: Pair) -> None:
    calls, approver = pair
    before, _ = waiting(calls)
    over = threading.Event()

    def go_on_asking() -> None:
        while not over.wait(0.1):
            waiting(calls)

    asking = threading.Thread(target=go_on_asking)
    with closing(calls.follow_inbox()) as coming:
        asking.start()
        try:
            came = next(coming)
        finally:
            over.set()
            asking.join()
        assert came["approval_id"] != before
        assert (came["event"], came["status"]) == ("approval.pending", "pending")
        card = approver.show_approval(before)
        assert card.session_id != came["session_id"]
        approver.decide_approval(before, "REJECTED", content_hash=card.content_hash)
        told = next(one for one in coming if one["approval_id"] == before)
        assert told == {
            "event": "approval.decided",
            "approval_id": before,
            "session_id": card.session_id,
            "status": "rejected",
        }


def waiting(calls: Calls) -> tuple[str, str]:
    """The id and the hash of something that a person must decide."""
    session_id = calls.declare_session(["a"], ONTOLOGY).session_id
    judged = calls.submit_claims(session_id, ClaimRows.submit_claims.example)
    assert judged.approval_id is not None
    return judged.approval_id, judged.content_hash


def deciding_between(decide: Callable[[], Any]) -> Callable[..., Iterator[float]]:
    """Takes the place of pausing: it is decided after the first look, so there must be a second."""

    def pauses(*_: Any) -> Iterator[float]:
        decide()
        yield 0.0
        raise AssertionError("a third look")

    return pauses


def test_what_waits_is_waited_for_until_it_is_decided(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, approver = pair
    approval_id, content_hash = waiting(calls)
    pauses = deciding_between(
        lambda: approver.decide_approval(approval_id, "REJECTED", content_hash=content_hash)
    )
    monkeypatch.setattr("beliefd.client.synchronous.pauses_until_decided", pauses)
    assert calls.wait_for(approval_id).status == "rejected"
    monkeypatch.undo()
    assert calls.wait_for(approval_id, timeout=0).status == "rejected"


def test_who_waits_long_enough_is_told_so(pair: Pair) -> None:
    calls, _ = pair
    approval_id, _ = waiting(calls)
    with pytest.raises(TimeoutError, match=f"approval `{approval_id}` is still pending after 0.1 seconds"):
        calls.wait_for(approval_id, timeout=0.1)


def test_coroutines_follow_and_wait_likewise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = asyncio.run(make_tokens(tmp_path / "beliefd.db"))

    async def story(calls: Any, approver: Calls) -> None:
        session_id = (await calls.declare_session(["a", "b"], ONTOLOGY)).session_id
        async with aclosing(calls.events(session_id)) as coming:
            assert (await anext(coming))["seq"] == 1
            await asyncio.to_thread(eliminate, approver, session_id, "a")
            assert (await anext(coming))["delta"]["eliminated"] == ["a"]
        async with aclosing(calls.events(session_id, after=1)) as coming:
            assert (await anext(coming))["seq"] == 2
        judged = await calls.submit_claims(session_id, ClaimRows.submit_claims.example)
        with pytest.raises(TimeoutError):
            await calls.wait_for(judged.approval_id, timeout=0)
        with monkeypatch.context() as patch:
            pauses = deciding_between(
                lambda: approver.decide_approval(
                    judged.approval_id, "APPROVED", content_hash=judged.content_hash
                )
            )
            patch.setattr("beliefd.client.asynchronous.pauses_until_decided", pauses)
            assert (await calls.wait_for(judged.approval_id)).status == "approved"

    async def both(url: str, approver: Calls) -> None:
        async with AsyncClient(url, tokens[Role.ADMIN]) as client:
            await story(client, approver)
        async with await beliefd.open_async(tmp_path / "beliefd.db", principal=LOCAL_OPERATOR) as library:
            await story(library, approver)

    with server_process(tmp_path) as server, Client(server.url, tokens[Role.APPROVER]) as approver:
        asyncio.run(both(server.url, approver))


def test_address_and_token_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = asyncio.run(make_tokens(tmp_path / "beliefd.db"))

    async def listed() -> int:
        async with AsyncClient() as client:
            return len((await client.list_sessions()).sessions)

    with server_process(tmp_path) as server:
        monkeypatch.setenv("BELIEFD_URL", server.url)
        monkeypatch.setenv("BELIEFD_TOKEN", tokens[Role.AGENT])
        with Client() as client:
            client.declare_session(["a"], ONTOLOGY)
        assert asyncio.run(listed()) == 1
        with Client(token="unknown") as stranger, pytest.raises(BeliefdError) as raised:
            stranger.list_sessions()
        assert raised.value.code is Code.UNAUTHORIZED


def test_without_an_environment_the_server_is_this_machine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BELIEFD_URL", "BELIEFD_TOKEN"):
        monkeypatch.setenv(name, "")
    with Client() as client:
        assert client._url == "http://127.0.0.1:8642"
        assert "authorization" not in client._http.headers


SEPARATORS = "".join(map(chr, (0x85, 0x2028, 0x2029, 0x0B, 0x0C, 0x1C, 0x1D, 0x1E, 0x0D, 0x0A)))
"""What Python calls the end of a line; in a feed only the last one is."""


def test_no_text_of_an_agent_ends_a_line_of_the_feed(pair: Pair) -> None:
    calls, _ = pair
    session_id = calls.declare_session(["a", "b"], ONTOLOGY).session_id
    said = {"because": f"before{SEPARATORS}after"}
    calls.eliminate(session_id, source_id="s", observation_id="o", eliminated=["a"], justification=said)
    eliminate(calls, session_id, "b")
    with closing(calls.events(session_id)) as feed:
        seen = [next(feed) for _ in range(3)]
    assert [entry["seq"] for entry in seen] == [1, 2, 3]
    assert seen[1]["payload"]["justification"] == said


def test_nor_of_one_that_is_followed_on_an_event_loop(tmp_path: Path) -> None:
    async def followed(url: str) -> Any:
        async with AsyncClient(url) as calls:
            session_id = (await calls.declare_session(["a", "b"], ONTOLOGY)).session_id
            said = {"because": SEPARATORS}
            await calls.eliminate(
                session_id, source_id="s", observation_id="o", eliminated=["a"], justification=said
            )
            async with aclosing(calls.events(session_id, 1)) as feed:
                return (await anext(feed))["payload"]["justification"]

    with server_process(tmp_path) as server:
        assert asyncio.run(followed(server.url)) == {"because": SEPARATORS}
