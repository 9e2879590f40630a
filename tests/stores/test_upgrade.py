"""A newer server brings a database up to date under an older one, which goes on: tables only gain."""

import json
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from beliefd.ledger.envelope import head_of
from beliefd.stores.base import StorageUnavailable
from beliefd.stores.postgres import PostgresStore
from beliefd.stores.postgres.append import append_statement
from beliefd.stores.postgres.schema import MIGRATIONS
from beliefd.testing.appends import batch, chain, eventually

RELEASED = sorted((Path(__file__).parent / "released").glob("schema-*.json"))
"""What earlier versions say to their database, as it was recorded. Files are added, never changed."""

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=RELEASED, ids=[path.stem for path in RELEASED])
def released(request: pytest.FixtureRequest) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(request.param.read_text())
    return told


async def at_version(url: str, version: int) -> None:
    """A database as a server of that version left it."""
    connection = await asyncpg.connect(url)
    await connection.execute(
        "CREATE TABLE beliefd_schema"
        " (version INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"
    )
    for number, script in enumerate(MIGRATIONS[:version], 1):
        await connection.execute(script)
        await connection.execute("INSERT INTO beliefd_schema (version) VALUES ($1)", number)
    await connection.close()


async def test_all_that_an_earlier_version_asks_and_writes_is_understood_after_the_upgrade(
    postgres_url: str, released: dict[str, Any]
) -> None:
    await at_version(postgres_url, released["schema"])
    old = await asyncpg.connect(postgres_url)
    try:
        before = [await old.prepare(statement) for statement in released["statements"]]
        await old.execute("SELECT 1")  # what only prepares holds its tables until it executes something
        store = await PostgresStore.open(postgres_url)
        await store.close()
        for statement in released["statements"]:
            await old.prepare(statement)
        assert before
    finally:
        await old.close()


async def test_what_an_earlier_version_appends_meanwhile_is_seen_and_continued(
    postgres_url: str, released: dict[str, Any]
) -> None:
    await at_version(postgres_url, released["schema"])
    one, two, three = chain("s", 3)
    old = await asyncpg.connect(postgres_url)
    heard: list[str] = []
    try:
        await _appended_by(old, released, batch("s", None, [one]))
        store = await PostgresStore.open(postgres_url)
        store.subscribe(heard.append)
        await _appended_by(old, released, batch("s", head_of(one), [two]))
        await eventually(lambda: bool({"s", ""} & set(heard)))  # told of it, or to look for itself
        await store.append(batch("s", head_of(two), [three]))
        assert [entry.hash for entry in await store.entries("s")] == [one.hash, two.hash, three.hash]
        await store.close()
    finally:
        await old.close()


async def _appended_by(old: asyncpg.Connection, released: dict[str, Any], append: Any) -> None:
    """As that version writes: its own statement, with the values that it has."""
    _, parameters = append_statement(append)
    begins = append.expected is None
    table = "INSERT INTO sessions" if begins else "UPDATE sessions SET head_seq"
    own = [one for one in released["statements"] if table in one]
    plain = next(one for one in own if "put_" not in one and "needed" not in one)
    assert await old.fetchval(plain, *parameters) == 1
    await old.execute("SELECT pg_notify('beliefd_grown', $1)", json.dumps([append.session_id]))


async def test_a_server_that_is_too_old_for_a_database_says_so(postgres_url: str) -> None:
    await at_version(postgres_url, len(MIGRATIONS))
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("INSERT INTO beliefd_schema (version) VALUES ($1)", len(MIGRATIONS) + 1)
    await connection.close()
    with pytest.raises(StorageUnavailable, match="use a newer beliefd"):
        await PostgresStore.open(postgres_url)
