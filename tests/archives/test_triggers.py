"""The databases themselves let a ledger go only whole, sealed and with its hashes, and nothing else."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from beliefd.stores.base import Store
from beliefd.stores.postgres import PostgresStore
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.appends import batch, chain
from beliefd.testing.archive_contract import prepared, put_away, sealed_chain, stub_of
from beliefd.testing.log_contract import add_all

Run = Callable[[str], Awaitable[None]]
STUB = (
    "INSERT INTO archives VALUES ('{name}', {seq}, 'e', '{hash}', 'place', '{zeros}', 'now', 'somebody', 1)"
)
LENGTH = 40


def stub(name: str, length: int) -> str:
    head = stub_of(sealed_chain(name, length), name).head
    return STUB.format(name=name, seq=head.seq, hash=head.hash, zeros="0" * 64)


async def refused(run: Run, *statements: str) -> None:
    for statement in statements:
        with pytest.raises((sqlite3.IntegrityError, asyncpg.PostgresError)):
            await run(statement)


async def holds(store: Store, run: Run) -> None:
    entries = await prepared(store, "here", LENGTH)
    await put_away(store, "s", LENGTH)
    await store.append(batch("open", None, chain("open", 2)))
    await store.append(batch("bare", None, sealed_chain("bare", 2)))
    await add_all(store)
    await refused(
        run,
        "DELETE FROM audit_events WHERE session_id = 'here'",
        "DELETE FROM audit_events",
        "UPDATE audit_events SET hash = '' WHERE session_id = 'here'",
        "DELETE FROM sessions WHERE session_id = 's'",
        # A stub for what is not sealed, for what has no hashes, with another head, and a second one.
        STUB.format(name="open", seq=2, hash=chain("open", 2)[-1].hash, zeros="0" * 64),
        stub("bare", 2),
        stub("here", LENGTH - 1),
        stub("s", LENGTH),
        stub("nobody", 2),
        # It stays as it is, and goes only when everything is back.
        "UPDATE archives SET place = 'elsewhere'",
        "DELETE FROM archives",
        "DELETE FROM archived_hashes WHERE session_id = 's'",
        "UPDATE archived_hashes SET first_seq = 2 WHERE session_id = 's'",
        "UPDATE sessions SET archived = 0 WHERE session_id = 's'",
        "UPDATE sessions SET archived = 1 WHERE session_id = 'here'",
        "UPDATE sessions SET head_seq = head_seq + 1 WHERE session_id = 's'",
        "UPDATE sessions SET archived = 0, head_seq = 1 WHERE session_id = 's'",
    )
    assert await store.entries("here") == entries
    assert await store.archived("s") is not None
    await run(stub("here", LENGTH))
    await refused(run, "DELETE FROM audit_events WHERE session_id <> 'here'")
    await run("DELETE FROM audit_events WHERE session_id = 'here' AND seq < 9")
    await refused(run, "DELETE FROM archives WHERE session_id = 'here'")
    await store.put_archived("here", entries)
    await run("DELETE FROM archives WHERE session_id = 'here'")
    assert await store.entries("here") == entries
    assert await store.head("here") is not None


def test_sqlite_lets_nothing_else_go(tmp_path: Path) -> None:
    async def test() -> None:
        store = await SqliteStore.open(tmp_path / "ledger.db")
        file = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)

        async def run(statement: str) -> None:
            file.execute(statement)

        try:
            await holds(store, run)
            with pytest.raises(sqlite3.IntegrityError):
                file.execute(stub("s", LENGTH).replace("INSERT", "INSERT OR REPLACE"))
        finally:
            file.close()
            await store.close()

    asyncio.run(test())


def test_postgresql_lets_nothing_else_go(postgres_url: str) -> None:
    async def test() -> None:
        store = await PostgresStore.open(postgres_url)
        connection = await asyncpg.connect(postgres_url)

        async def run(statement: str) -> None:
            await connection.execute(statement)

        try:
            await holds(store, run)
            await refused(run, "TRUNCATE audit_events", "TRUNCATE archives", "TRUNCATE archived_hashes")
            await connection.execute("SET session_replication_role = replica")
            await refused(run, "DELETE FROM audit_events WHERE session_id = 'here'", "DELETE FROM archives")
        finally:
            await connection.close()
            await store.close()

    asyncio.run(test())
