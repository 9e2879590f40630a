"""A newer server brings a database up to date under an older one, which goes on: tables only gain.

What kills it meanwhile leaves a version that there was, and the next server goes on from there.
"""

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from beliefd.ledger.envelope import head_of
from beliefd.stores.base import StorageUnavailable
from beliefd.stores.postgres import PostgresStore
from beliefd.stores.postgres.append import append_statement
from beliefd.stores.postgres.schema import MIGRATIONS
from beliefd.stores.sqlite import SqliteStore
from beliefd.stores.sqlite.schema import MIGRATIONS as FILE_MIGRATIONS
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


KILLED = """
import asyncio, os, signal, sys
import beliefd
from beliefd.stores.postgres import schema as shared
from beliefd.stores.sqlite import schema as file

left = int(sys.argv[2])

def counted(items):
    global left
    for one in items:
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        yield one

class Scripts(tuple):
    def __getitem__(self, which):
        found = super().__getitem__(which)
        return counted(found) if isinstance(which, slice) else found

statements = file._statements
file._statements = lambda script: counted(statements(script))
shared.MIGRATIONS = Scripts(shared.MIGRATIONS)
asyncio.run(beliefd.open_async(sys.argv[1]))
"""
BEFORE = 14


def killed(place: Path | str, after: int) -> None:
    command = [sys.executable, "-c", KILLED, str(place), str(after)]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def tables(file: Path) -> tuple[int, list[tuple[str, str]]]:
    with closing(sqlite3.connect(file)) as connection:
        [(version,)] = connection.execute("PRAGMA user_version").fetchall()
        return version, connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()


def file_at(place: Path, version: int) -> Path:
    with closing(sqlite3.connect(place)) as connection:
        for script in FILE_MIGRATIONS[:version]:
            connection.executescript(script)
        connection.execute(
            "INSERT INTO tokens (token_id, name, role, tier, secret_hash, created_at)"
            " VALUES ('t', 'ann', 'agent', 'READ_ONLY', 'x', '2026')"
        )
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
    return place


async def test_an_upgrade_of_a_file_killed_half_way_is_gone_on_with(tmp_path: Path) -> None:
    place, reached = file_at(tmp_path / "old.db", BEFORE), [BEFORE]
    for after in (0, 1, 4, 9, 2):
        killed(place, after)
        version, found = tables(place)
        assert (version, found) == tables(file_at(tmp_path / f"{len(reached)}.db", version)), "half a step"
        reached.append(version)
    assert reached == sorted(reached)
    assert reached[-1] > BEFORE
    await (await SqliteStore.open(place)).close()
    assert tables(place) == tables(file_at(tmp_path / "new.db", len(FILE_MIGRATIONS)))
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("SELECT name FROM tokens").fetchall() == [("ann",)]


async def test_an_upgrade_of_a_database_killed_half_way_leaves_it_as_it_was(
    postgres_url: str,
) -> None:
    await at_version(postgres_url, BEFORE)
    for after in (0, 1, len(MIGRATIONS) - BEFORE - 1):
        killed(postgres_url, after)
        connection = await asyncpg.connect(postgres_url)
        assert await connection.fetchval("SELECT max(version) FROM beliefd_schema") == BEFORE
        assert await connection.fetchval("SELECT to_regclass('log_tiles')") is None
        await connection.close()
    store = await PostgresStore.open(postgres_url)
    one, two = chain("s", 2)
    await store.append(batch("s", None, [one]))
    await store.append(batch("s", head_of(one), [two]))
    await store.close()
