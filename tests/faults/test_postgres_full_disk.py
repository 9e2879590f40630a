"""The disk of PostgreSQL fills up, that of the tables or all of it: what was acknowledged stays, refusals are
clear, `/readyz` says so, and it goes on by itself when there is room.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.faults.load import (
    Failure,
    Log,
    Request,
    audit,
    client,
    declare,
    requests,
    send,
    until,
    write_bulk,
    writing,
)
from tests.faults.place import Place
from tests.support.postgres import PostgresServer, hand_over
from tests.support.small_disk import SmallDisk, small_disk

SEED = 5
WRITERS = 4
TIMES = 2

pytestmark = pytest.mark.slow


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    with small_disk(192) as disk:
        hand_over(disk.place)
        yield disk


async def becomes(http: httpx.AsyncClient, status: int) -> httpx.Response:
    async with asyncio.timeout(60):
        while (answer := await http.get("/readyz")).status_code != status:  # noqa: ASYNC110 - it is polled
            await asyncio.sleep(0.1)
    return answer


async def refused(write: Callable[[], Awaitable[None]]) -> Failure:
    """Write until the server refuses."""
    while True:
        try:
            await write()
        except Failure as failure:
            return failure


async def go_on(log: Log) -> None:
    before = len(log.acknowledged)
    await until(lambda: len(log.acknowledged) >= before + WRITERS)


def test_tables_that_have_no_room_refuse_writes_and_take_them_again_when_there_is_some(
    disk: SmallDisk, tmp_path: Path
) -> None:
    log, bulk = Log(), list[str]()

    async def one(http: httpx.AsyncClient, todo: Iterator[Request]) -> None:
        request = next(todo)
        log.unanswered.add(request)
        log.keep(request, await send(http, request))

    async def full(http: httpx.AsyncClient, session_id: str, other: str, todo: Iterator[Request]) -> None:
        """The room that is left in pages is taken by long events, and the rest of it by short ones."""
        for write in (lambda: write_bulk(http, other, bulk), lambda: one(http, todo)):
            failure = await refused(write)
            assert failure.code == "STORAGE_UNAVAILABLE"
            assert "nothing was written: there is no room for it" in failure.message
            assert "base/" not in failure.message
        answer = await becomes(http, 503)
        assert "no room" in answer.json()["error"]["message"]
        assert (await http.get("/healthz")).status_code == 200
        log.check(session_id, await audit(http, session_id))

    async def story(url: str) -> None:
        async with client(url) as http:
            session_id, other = await declare(http, {}), await declare(http, {})
            for time in range(TIMES):
                todo = requests(f"time{time}", [session_id], SEED)
                with disk.filled():
                    await full(http, session_id, other, todo)
                await becomes(http, 200)
                for request in [*log.unanswered, *itertools.islice(todo, 20)]:
                    log.keep(request, await send(http, request))
            log.check(session_id, await audit(http, session_id))
            assert [event["event_id"] for event in (await audit(http, other))[1:]] == bulk

    with PostgresServer() as server:
        server.execute(f"CREATE TABLESPACE small LOCATION '{disk.place}'")
        server.execute("CREATE DATABASE full_one TABLESPACE small")
        place = Place(tmp_path / "data", server.url("full_one"))
        with place.server() as ours:
            asyncio.run(story(ours.url))
        place.check_whole()


def test_a_database_whose_log_has_no_room_loses_nothing_and_is_gone_back_to(
    disk: SmallDisk, tmp_path: Path
) -> None:
    """PostgreSQL ends itself then. Unless it comes up again by itself, somebody starts it when there is room.

    Recovery may give back room for a while: so nothing is promised of `/readyz` as long as the disk is full.
    """
    log = Log()

    async def story(url: str, server: PostgresServer) -> None:
        async with client(url) as http:
            sessions = [await declare(http, {}) for _ in range(2)]
            bulk = await declare(http, {})
            for time in range(TIMES):
                streams = [requests(f"{time}-{writer}", sessions, SEED) for writer in range(WRITERS)]
                async with writing(http, log, streams):
                    await go_on(log)
                    with disk.filled():
                        failure = await refused(lambda: write_bulk(http, bulk, []))
                        assert failure.code == "STORAGE_UNAVAILABLE"
                        assert (await http.get("/healthz")).status_code == 200
                    await asyncio.to_thread(server.start)
                    await becomes(http, 200)
                    await go_on(log)
            assert {(one.status, one.code) for one in log.failures} <= {(503, "STORAGE_UNAVAILABLE")}
            for one in sessions:
                log.check(one, await audit(http, one))

    with PostgresServer(disk=disk.place) as server:
        place = Place(tmp_path / "data", server.create_database())
        with place.server() as ours:
            asyncio.run(story(ours.url, server))
        place.check_whole()
