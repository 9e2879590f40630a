"""Listeners are counted, and many of them hold little."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from beliefd.embedded import AsyncEmbedded
from beliefd.http import metrics
from beliefd.http.places import Limit, Places
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward import feeds
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.stores.memory import MemoryStore
from beliefd.testing.world import ONTOLOGY
from tests.http.calls import ELIMINATE, declare, error_of
from tests.http.place import Place
from tests.http.raw import Connection, connected
from tests.http.test_staying import until
from tests.support.server import ServerProcess, server_process


def test_places_are_shared_and_given_back() -> None:
    some = Places(Limit("requests", "requests", total=3, each=2))
    with some.of("a"), some.of("a"):
        with pytest.raises(BeliefdError) as greedy, some.of("a"):
            pytest.fail("a third of two")
        assert greedy.value.code is Code.RATE_LIMITED
        assert greedy.value.details == {"retry_after": 1, "limit": 2, "reason": "requests"}
        with some.of("b"):
            with pytest.raises(BeliefdError) as full, some.of("c"):
                pytest.fail("a fourth of three")
            assert full.value.code is Code.TOO_BUSY
    with some.of("a"), some.of("a"), some.of("c"):
        assert some.total == 3
    assert (some.total, some.refused) == (0, 2)


def test_one_who_listens_too_often_is_told_when_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "STREAMS", Limit("streams", "answers that last", total=9, each=2))
    place = Place()
    with httpx.Client(base_url=place.url, verify=False) as http:
        session_id = declare(http)
        path = f"/v1/sessions/{session_id}/events"
        listening = [Connection(place.port) for _ in range(2)]
        for one in listening:
            one.request("GET", path)
            assert one.line() == b"HTTP/1.1 200 OK\r\n"
        answer = http.get(path)
        error = error_of(answer, 429, Code.RATE_LIMITED)
        assert answer.headers["retry-after"] == str(error["details"]["retry_after"])
        assert http.get(f"/v1/sessions/{session_id}").status_code == 200
        listening[0].close()
        until(lambda: len(place.server.server_state.connections) == 2)
        third = Connection(place.port)
        third.request("GET", path)
        assert third.line() == b"HTTP/1.1 200 OK\r\n"
    place.runtime.feeds.end()
    for one in (listening[1], third):
        one.close()
    place.close()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[tuple[ServerProcess, httpx.Client]]:
    """A server that nobody else has listened to: its memory and its places are those of one test."""
    with server_process(tmp_path) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        yield server, client


def test_sixty_listeners_that_never_read_hold_little_of_a_long_ledger(
    alone: tuple[ServerProcess, httpx.Client],
) -> None:
    server, http = alone
    session_id = declare(http)
    big = {**ELIMINATE, "eliminated": [], "justification": {"log": "x" * 50_000}}
    for number in range(100):
        http.post(f"/v1/sessions/{session_id}/eliminate", json={**big, "observation_id": f"o{number}"})
    before = memory_of(server)
    listening = [listener(server, session_id) for _ in range(60)]
    time.sleep(1)  # as long as it takes to fill what will take it
    assert memory_of(server) - before < 24 * 1024 * 1024  # a twelfth of the ledgers that they asked for
    for one in listening:
        one.close()


def test_long_entries_are_there_for_two_listeners_at_once(alone: tuple[ServerProcess, httpx.Client]) -> None:
    server, http = alone
    session_id = declare(http)
    long = {**ELIMINATE, "eliminated": [], "justification": {"log": "x" * 6_000_000}}
    http.post(f"/v1/sessions/{session_id}/eliminate", json=long).raise_for_status()
    before = memory_of(server)
    listening = [listener(server, session_id) for _ in range(40)]
    time.sleep(2)  # as long as it takes to fill what will take it
    assert memory_of(server) - before < 80 * 1024 * 1024  # a third of one entry each
    for one in listening:
        one.close()
    with connected(server) as last:  # those who left have given their room back
        last.request("GET", f"/v1/sessions/{session_id}/events")
        told = 0
        while told < 6_000_000:
            told += len(last.line())


@pytest.mark.anyio
async def test_who_waits_for_room_is_told_that_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "HEARTBEAT_SECONDS", 0.01)
    runtime = bootstrap(MemoryStore())
    calls = AsyncEmbedded(runtime, LOCAL_OPERATOR)
    session_id = (await calls.declare_session(["a"], ONTOLOGY)).session_id
    log = {"log": "x" * feeds.LONG_BYTES}
    await calls.eliminate(session_id, source_id="s", observation_id="o", eliminated=[], justification=log)
    listening = [runtime.feeds.follow(session_id, 1, "me") for _ in range(feeds.LONG_AT_ONCE + 1)]
    first, *others = [await anext(one) for one in listening]
    assert [page and page[0].seq for page in (first, *others)] == [2, 2, None]
    assert await anext(runtime.feeds.follow(session_id, 1, "somebody else"))
    assert await anext(listening[0]) is None, "it has taken its page, and waits for the next"
    assert await anext(listening[-1])
    for one in listening:
        await one.aclose()
    await runtime.close()


def listener(server: ServerProcess, session_id: str) -> Connection:
    """One more who follows a session."""
    one = Connection(server.port)
    one.request("GET", f"/v1/sessions/{session_id}/events")
    assert (line := one.line()) == b"HTTP/1.1 200 OK\r\n", (line, one.rest())
    return one


def memory_of(process: ServerProcess) -> int:
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize(
    ("sizes", "page"), [([10] * 4, 8), ([10] * 3, 4), ([40_000] * 4, 1), ([10_000] * 4, 4)]
)
def test_pages_of_a_feed_follow_the_size_of_its_entries(sizes: list[int], page: int) -> None:
    class Entry:
        def __init__(self, size: int) -> None:
            self.record = b"x" * size

    assert feeds.next_page([Entry(size) for size in sizes], 4) == page  # type: ignore[misc]
