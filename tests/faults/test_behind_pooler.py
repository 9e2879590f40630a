"""A server behind PgBouncer in transaction mode, which is killed in the middle and comes back."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.faults.feed import following
from tests.faults.load import Log, audit, client, declare, requests, until, writing
from tests.faults.place import Place
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import PostgresServer
from tests.support.server import ServerProcess

SESSIONS = 4
WRITERS = 6
KILLS = 2
SEED = 29

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pooler(postgres_server: PostgresServer) -> Iterator[PgBouncer]:
    with PgBouncer(postgres_server) as pooler:
        yield pooler


def test_two_servers_outlive_the_pooler_lose_nothing_and_hear_of_each_other(
    pooler: PgBouncer, postgres_url: str, tmp_path: Path
) -> None:
    log = Log()
    options = ("--feed-store", postgres_url)
    here, there = (
        ServerProcess(tmp_path / name, pooler.url(postgres_url), options=options) for name in ("a", "b")
    )

    async def kill(http: httpx.AsyncClient) -> None:
        failed = len(log.failures)
        await asyncio.to_thread(pooler.kill)
        await until(lambda: len(log.failures) >= failed + WRITERS)
        assert (await http.get("/healthz")).status_code == 200
        await asyncio.to_thread(pooler.start)
        acknowledged = len(log.acknowledged)
        await until(lambda: len(log.acknowledged) >= acknowledged + WRITERS)

    async def story() -> None:
        async with client(here.url) as http, client(there.url) as other:
            sessions = [await declare(http, {}) for _ in range(SESSIONS)]
            streams = [requests(f"writer{writer}", sessions, SEED) for writer in range(WRITERS)]
            async with following(other, sessions[0]) as feed:
                async with writing(http, log, streams):
                    await until(lambda: len(log.acknowledged) >= 10 * WRITERS)
                    for _ in range(KILLS):
                        await kill(http)
                assert {(one.status, one.code) for one in log.failures} == {(503, "STORAGE_UNAVAILABLE")}
                for session_id in sessions:
                    log.check(session_id, await audit(other, session_id))
                events = await audit(http, sessions[0])
                await feed.reach(events[-1]["seq"])
                assert feed.events == events

    try:
        asyncio.run(story())
    finally:
        assert [one.stop() for one in (here, there)] == [0, 0]
    for one in (here, there):
        assert "Traceback" not in one.output, one.output
        one.forget()
    Place(tmp_path, postgres_url).check_whole()


@pytest.mark.parametrize(
    ("store", "options", "told"),
    [
        ("pooled", (), "leads to a pooler, which loses what is listened for; give the address of PostgreSQL"),
        ("pooled", ("--feed-store", "pooled"), "the address of the feed leads to a pooler"),
        ("pooled", ("--feed-store", "mysql://x"), "begins with postgresql://"),
        ("file", ("--feed-store", "direct"), "only a PostgreSQL store has a feed elsewhere"),
        ("file", ("--processes", "2"), "several processes need PostgreSQL"),
    ],
)
def test_addresses_that_cannot_work_are_refused_with_what_would(
    pooler: PgBouncer, postgres_url: str, tmp_path: Path, store: str, options: tuple[str, ...], told: str
) -> None:
    known = {"pooled": pooler.url(postgres_url), "direct": postgres_url}
    command = [sys.executable, "-m", "beliefd.cli.main", "serve", "--port", "0", "--data", str(tmp_path)]
    command += ["--store", known[store]] if store in known else []
    command += [known.get(one, one) for one in options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode != 0
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr
