"""A disk that fills up: a clear error, reads go on, nothing acknowledged is lost, and it mends by itself.

The limit on the size of files is lowered on the running server. That works without rights and on any file
system, and hits SQLite where a full disk does: in the write-ahead log, or in the file itself.
"""

import asyncio
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.faults.feed import following
from tests.faults.load import (
    Failure,
    Log,
    Request,
    audit,
    client,
    declare,
    requests,
    send,
    snapshot,
    write_bulk,
)
from tests.faults.place import Place
from tests.support.server import ServerProcess

SEED = 3
CHECKPOINT_BYTES = 1_000 * 4_096
"""SQLite empties its write-ahead log into the file when it holds so much."""

pytestmark = pytest.mark.slow


def test_a_full_disk_refuses_writes_and_takes_them_again_when_there_is_room(file_place: Place) -> None:
    log = Log()

    async def full(http: httpx.AsyncClient, session_id: str) -> None:
        failure = await fill(http, log, requests(f"at{len(log.acknowledged)}", [session_id], SEED))
        assert (failure.status, failure.code) == (503, "STORAGE_UNAVAILABLE")
        assert "nothing was written" in failure.message
        assert "no room" in failure.message
        log.check(session_id, await audit(http, session_id))
        assert (await snapshot(http, session_id))["seq"] == 1 + len(log.acknowledged)

    async def story(server: ServerProcess) -> None:
        async with client(server.url) as http:
            session_id = await declare(http, {})
            async with following(http, session_id) as feed:
                for _ in range(4):
                    with files_limited(server, wal_of(file_place).stat().st_size + 50_000):
                        await full(http, session_id)
                    for request in list(log.unanswered):
                        log.keep(request, await send(http, request))
                events = await audit(http, session_id)
                log.check(session_id, events)
                await feed.reach(len(events))
                assert feed.events == events

    with file_place.server() as server:
        asyncio.run(story(server))
    assert file_place.check_whole() == 1 + len(log.acknowledged)


def test_a_log_that_cannot_be_emptied_is_emptied_and_cut_when_there_is_room(file_place: Place) -> None:
    wal = wal_of(file_place)
    acknowledged: list[str] = []

    async def story(server: ServerProcess) -> None:
        async with client(server.url) as http:
            session_id = await declare(http, {})
            while file_place.file.stat().st_size < 1.5 * CHECKPOINT_BYTES:
                await write_bulk(http, session_id, acknowledged)
            limit = file_place.file.stat().st_size + 4_096
            with files_limited(server, limit):
                failure = await fill_in_bulk(http, session_id)
                assert failure.code == "STORAGE_UNAVAILABLE"
                assert file_place.file.stat().st_size <= limit
                assert wal.stat().st_size > 1.2 * CHECKPOINT_BYTES, "the log was emptied all the same"
                events = await audit(http, session_id)
                assert [event["event_id"] for event in events[1:]] == acknowledged
            for _ in range(12):
                await write_bulk(http, session_id, acknowledged)
            assert file_place.file.stat().st_size > limit
            assert wal.stat().st_size < 1.2 * CHECKPOINT_BYTES, "room that is no longer needed was kept"

    async def fill_in_bulk(http: httpx.AsyncClient, session_id: str) -> Failure:
        while True:
            try:
                await write_bulk(http, session_id, acknowledged)
            except Failure as failure:
                return failure

    with file_place.server() as server:
        asyncio.run(story(server))
    assert file_place.check_whole() == 1 + len(acknowledged)


def test_a_server_without_room_to_write_is_not_ready_until_there_is_some(file_place: Place) -> None:
    with file_place.server() as server, httpx.Client(base_url=server.url, verify=False) as http:
        assert http.get("/readyz").status_code == 200
        with files_limited(server, wal_of(file_place).stat().st_size):
            refused = changed(http, 503)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "STORAGE_UNAVAILABLE")
            assert "no room" in refused.json()["error"]["message"]
            assert http.get("/healthz").status_code == 200
        assert changed(http, 200).status_code == 200


def test_content_that_finds_no_room_is_refused_in_words(file_place: Place) -> None:
    with file_place.server() as server, httpx.Client(base_url=server.url, verify=False) as http:
        with files_limited(server, wal_of(file_place).stat().st_size):
            refused = http.post("/v1/content", content=b"x" * 100_000)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "STORAGE_UNAVAILABLE")
        assert "no room" in refused.json()["error"]["message"]
        assert int(refused.headers["retry-after"]) > 0


def changed(http: httpx.Client, status: int) -> httpx.Response:
    """What `/readyz` says once it has looked again: it looks once a second at most."""
    deadline = time.monotonic() + 60
    while (answer := http.get("/readyz")).status_code != status and time.monotonic() < deadline:
        time.sleep(0.1)
    return answer


@contextmanager
def files_limited(server: ServerProcess, size: int) -> Iterator[None]:
    """No file of the server can grow past `size` bytes while the block runs."""
    soft, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (soft, hard))


def wal_of(place: Place) -> Path:
    return place.file.with_name(place.file.name + "-wal")


async def fill(http: httpx.AsyncClient, log: Log, todo: Iterator[Request]) -> Failure:
    """Write until the server refuses."""
    while True:
        request = next(todo)
        try:
            log.keep(request, await send(http, request))
        except Failure as failure:
            log.unanswered.add(request)
            return failure
