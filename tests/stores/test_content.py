"""Content in databases: files of the version before, and removals that wait for appends."""

import asyncio
import sqlite3
from pathlib import Path

import asyncpg
import pytest

from beliefd.ledger.envelope import head_of
from beliefd.stores.base import HeadMoved, Store
from beliefd.stores.citations import Uncited
from beliefd.stores.content import KeptContent, Quota, QuotaExceeded
from beliefd.stores.postgres import PostgresStore
from beliefd.stores.postgres import schema as postgres_schema
from beliefd.stores.sqlite import SqliteStore
from beliefd.stores.sqlite import schema as sqlite_schema
from beliefd.testing.appends import CREATED, batch, entry
from beliefd.testing.content_contract import ANN, BOT, LATER, named
from tests.stores.test_postgres import WAITING, _until, _value

pytestmark = pytest.mark.anyio
BEFORE = 8
"""The version without sizes and counts."""
KEPT = ((named(1), b"1234"), (named(2), b"12"), (named(3), b"123456"))
BROUGHT = (
    (named(1), ANN.id, "approver", CREATED),
    (named(1), ANN.id, "admin", LATER),
    (named(1), BOT.id, "agent", CREATED),
    (named(2), ANN.id, "approver", CREATED),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_file_of_the_version_before_keeps_its_content_and_counts_it(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        for script in sqlite_schema.MIGRATIONS[:BEFORE]:
            connection.executescript(script)
        connection.executemany("INSERT INTO content VALUES (?, ?)", KEPT)
        connection.executemany("INSERT INTO content_brought VALUES (?, ?, ?, ?)", BROUGHT)
        connection.execute(f"PRAGMA user_version = {BEFORE}")
    connection.close()
    await _check(await SqliteStore.open(path))


async def test_a_database_of_the_version_before_keeps_its_content_and_counts_it(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(
        "CREATE TABLE beliefd_schema ("
        " version INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"
    )
    for number, script in enumerate(postgres_schema.MIGRATIONS[:BEFORE], 1):
        await connection.execute(script)
        await connection.execute("INSERT INTO beliefd_schema (version) VALUES ($1)", number)
    await connection.executemany("INSERT INTO content VALUES ($1, $2)", KEPT)
    await connection.executemany("INSERT INTO content_brought VALUES ($1, $2, $3, $4)", BROUGHT)
    await connection.close()
    await _check(await PostgresStore.open(postgres_url))


async def _check(store: Store) -> None:
    try:
        assert [await store.content(name) for name, _ in KEPT] == [content for _, content in KEPT]
        assert await store.about_content(named(1)) == KeptContent(named(1), 4, LATER)
        assert await store.about_content(named(2)) == KeptContent(named(2), 2, CREATED)
        unknown = await store.about_content(named(3))
        assert unknown is not None
        assert unknown.size == 6
        assert len(unknown.touched_at) == len(CREATED)
        assert unknown.touched_at > LATER, "nobody is known to have brought it, so it counts as young"
        await store.put_content(named(4), b"1", ANN, Quota(items=3, bytes=7))
        with pytest.raises(QuotaExceeded) as over:
            await store.put_content(named(5), b"1", BOT, Quota(items=1))
        assert (over.value.items, over.value.size) == (1, 4)
    finally:
        await store.close()


@pytest.fixture
async def shared(postgres_url: str) -> str:
    """A database with a session and one item of content."""
    store = await PostgresStore.open(postgres_url)
    await store.append(batch("s", None, [entry("s", 1)]))
    await store.put_content(named(10), b"1234", ANN)
    await store.close()
    return postgres_url


async def test_an_append_that_waited_for_a_removal_sees_what_it_removed(shared: str) -> None:
    store = await PostgresStore.open(shared)
    remover = await asyncpg.connect(shared)
    append = batch("s", head_of(entry("s", 1)), [entry("s", 2)], rests_on=[named(10)])
    async with remover.transaction():
        await remover.execute(*PostgresStore.HOLD_APPENDS)
        waiting = asyncio.ensure_future(store.append(append))
        await _until(shared, WAITING, 1)
        await remover.execute("DELETE FROM content")
    with pytest.raises(HeadMoved):
        await waiting
    assert len(await store.entries("s")) == 1
    await remover.close()
    await store.close()


async def test_a_removal_waits_for_an_append_that_is_under_way_and_sees_what_it_cites(shared: str) -> None:
    store = await PostgresStore.open(shared)
    writer = await asyncpg.connect(shared)
    cites = entry("s", 2, named(10))
    async with writer.transaction():
        await writer.execute("UPDATE sessions SET head_seq = 2, head_hash = $1", cites.hash)
        await writer.execute(
            "INSERT INTO audit_events VALUES ('s', 2, $1, $2, $3)",
            cites.event_id,
            cites.record.decode(),
            cites.hash,
        )
        removing = asyncio.ensure_future(store.remove_content([named(10)], LATER, Uncited([named(10)])))
        await _until(shared, WAITING, 1)
    assert await removing == []
    assert await store.content(named(10)) == b"1234"
    await writer.close()
    await store.close()


async def test_a_removal_that_waited_for_somebody_who_brings_it_again_leaves_it(shared: str) -> None:
    store = await PostgresStore.open(shared)
    bringer = await asyncpg.connect(shared)
    async with bringer.transaction():
        await bringer.execute("UPDATE content_about SET touched_at = $1", LATER)
        removing = asyncio.ensure_future(store.remove_content([named(10)], LATER, Uncited([named(10)])))
        await _until(shared, WAITING, 1)
    assert await removing == []
    assert await _value(shared, "SELECT count(*) FROM content") == 1
    await bringer.close()
    await store.close()
