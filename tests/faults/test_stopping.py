"""SIGTERM under load: what was acknowledged is kept, and the server is gone soon, whoever is listening."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.faults.feed import following
from tests.faults.load import (
    Failure,
    Log,
    audit,
    client,
    declare,
    requests,
    send,
    until,
    write_until_cut_off,
)
from tests.faults.place import Place
from tests.support.server import ServerProcess

WRITERS = 6
FEEDS = 5
STOP_SECONDS = 30
SEED = 17

pytestmark = pytest.mark.slow


def test_a_server_told_to_stop_keeps_what_it_acknowledged_and_ends_well_with_feeds_open(
    place: Place,
) -> None:
    log = Log()

    async def load_and_stop(server: ServerProcess) -> str:
        async with client(server.url) as http, AsyncExitStack() as stack:
            session_id = await declare(http, {})
            feeds = [await stack.enter_async_context(following(http, session_id)) for _ in range(FEEDS)]
            todo = [requests(f"writer{writer}", [session_id], SEED) for writer in range(WRITERS)]
            writers = [asyncio.create_task(write_until_cut_off(http, log, one)) for one in todo]
            for feed in feeds:
                await feed.reach(WRITERS)
            assert await asyncio.to_thread(server.stop, STOP_SECONDS) == 0
            await asyncio.gather(*writers)
            return session_id

    async def compare(server: ServerProcess, session_id: str) -> None:
        async with client(server.url) as http:
            for request in [one for one in log.unanswered if one.key is not None]:
                log.keep(request, await send(http, request))
            log.check(session_id, await audit(http, session_id))

    with place.server() as server:
        session_id = asyncio.run(load_and_stop(server))
    assert log.acknowledged
    with place.server() as server:
        asyncio.run(compare(server, session_id))
    place.check_whole()


def test_a_server_told_to_stop_finishes_what_runs_and_sends_all_else_elsewhere(
    tmp_path: Path, postgres_url: str
) -> None:
    server = ServerProcess(tmp_path, postgres_url, options=("--drain-seconds", str(STOP_SECONDS)))

    async def story() -> None:
        async with client(server.url) as http:
            session_id = await declare(http, {})
            async with following(http, session_id) as feed:
                await feed.reach(1)
                async with locked(postgres_url):
                    running = asyncio.create_task(send(http, next(requests("writer", [session_id], SEED))))
                    await blocked(postgres_url)
                    stopping = asyncio.create_task(asyncio.to_thread(server.stop, STOP_SECONDS))
                    await until(lambda: feed.ended)
                    assert feed.retry is not None, "nobody told its listener to come back"
                    for path in (f"/v1/sessions/{session_id}", "/readyz", "/"):
                        refused = await http.get(path)
                        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
                        assert refused.headers["connection"] == "close"
                        assert refused.json()["error"]["code"] == "TOO_BUSY"
                    todo = next(requests("late", [session_id], SEED))
                    with pytest.raises(Failure, match="503 TOO_BUSY: the server is stopping; nothing"):
                        await send(http, todo)
                    assert (await http.get("/healthz")).status_code == 200
                assert (await running).seq == 2
                assert await stopping == 0

    asyncio.run(story())
    assert "Traceback" not in server.output, server.output
    server.forget()
    Place(tmp_path, postgres_url).check_whole()


def test_a_store_that_hangs_does_not_keep_the_server_from_ending(tmp_path: Path, postgres_url: str) -> None:
    place = Place(tmp_path, postgres_url)

    async def story(server: ServerProcess) -> None:
        async with client(server.url) as http:
            session_id = await declare(http, {})
            async with locked(postgres_url):
                request = next(requests("writer", [session_id], SEED))
                waiting = asyncio.create_task(send(http, request))
                await blocked(postgres_url)
                assert await asyncio.to_thread(server.stop, STOP_SECONDS) == 0
                with pytest.raises(Failure, match="503 STORAGE_UNAVAILABLE: the server is stopping"):
                    await waiting

    with place.server() as server:
        asyncio.run(story(server))
    place.check_whole()


@asynccontextmanager
async def locked(url: str) -> AsyncIterator[None]:
    """Nobody else can read or write the sessions."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        await connection.close()


async def blocked(url: str) -> None:
    """Wait until somebody waits for a lock."""
    connection = await asyncpg.connect(url)
    try:
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        while not await connection.fetchval(waiting):  # noqa: ASYNC110 - only PostgreSQL knows
            await asyncio.sleep(0.01)
    finally:
        await connection.close()
