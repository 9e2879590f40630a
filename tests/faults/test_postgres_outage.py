"""PostgreSQL goes away and comes back while the server stays up."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.faults.feed import following
from tests.faults.load import Failure, Log, audit, client, declare, requests, snapshot, until, writing
from tests.faults.place import Place
from tests.support.postgres import PostgresServer

SESSIONS = 4
WRITERS = 8
OUTAGES = 3
SEED = 11

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def mortal() -> Iterator[PostgresServer]:
    """A PostgreSQL of our own: others need theirs alive."""
    with PostgresServer() as server:
        yield server


@pytest.mark.parametrize("end", [PostgresServer.kill, PostgresServer.stop], ids=["killed", "restarted"])
def test_the_server_outlives_postgres_and_keeps_what_it_acknowledged(
    mortal: PostgresServer, tmp_path: Path, end: Callable[[PostgresServer], None]
) -> None:
    place = Place(tmp_path, mortal.create_database())

    async def outage(http: httpx.AsyncClient, log: Log, session_id: str) -> None:
        failed = len(log.failures)
        await asyncio.sleep(0.2)
        await asyncio.to_thread(end, mortal)
        await until(lambda: len(log.failures) >= failed + WRITERS)
        with pytest.raises(Failure, match="503 STORAGE_UNAVAILABLE"):
            await snapshot(http, session_id)
        assert (await http.get("/healthz")).status_code == 200
        await becomes(http, 503)
        await asyncio.to_thread(mortal.start)
        acknowledged = len(log.acknowledged)
        await until(lambda: len(log.acknowledged) >= acknowledged + WRITERS)
        await becomes(http, 200)

    async def becomes(http: httpx.AsyncClient, status: int) -> None:
        """The store is asked once a second at most."""
        async with asyncio.timeout(60):
            while (await http.get("/readyz")).status_code != status:  # noqa: ASYNC110 - it is polled
                await asyncio.sleep(0.1)

    async def story(url: str) -> None:
        log = Log()
        async with client(url) as http:
            session_id, *others = [await declare(http, {}) for _ in range(SESSIONS)]
            sessions = [session_id, *others]
            streams = [requests(f"writer{writer}", sessions, SEED) for writer in range(WRITERS)]
            async with following(http, session_id) as feed:
                async with writing(http, log, streams):
                    for _ in range(OUTAGES):
                        await outage(http, log, session_id)
                assert {(one.status, one.code) for one in log.failures} == {(503, "STORAGE_UNAVAILABLE")}
                for one in others:
                    log.check(one, await audit(http, one))
                events = await audit(http, session_id)
                log.check(session_id, events)
                await feed.reach(events[-1]["seq"])
                assert feed.events == events
                assert feed.ids == [event["seq"] for event in events]

    with place.server() as server:
        asyncio.run(story(server.url))
    place.check_whole()
