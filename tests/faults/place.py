"""A store that server processes come and go on, and the checks that look into its tables from outside."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import asyncpg

from beliefd.embedded import Embedded
from beliefd.kernel.values import Role, Tier
from beliefd.steward.credentials import create_token
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.stores.postgres import PostgresStore
from tests.support.server import ServerProcess, server_process

HALF_WRITTEN: Final = {
    "a session whose head is not its last event": (
        "SELECT s.session_id FROM sessions s LEFT JOIN audit_events e"
        " ON e.session_id = s.session_id AND e.seq = s.head_seq"
        " WHERE e.hash IS NULL OR e.hash <> s.head_hash OR e.event_id <> s.head_event_id"
    ),
    "an event past the head of its session, or without one": (
        "SELECT e.event_id FROM audit_events e LEFT JOIN sessions s ON s.session_id = e.session_id"
        " WHERE s.session_id IS NULL OR e.seq > s.head_seq"
    ),
    "a gap in a ledger": (
        "SELECT session_id FROM audit_events GROUP BY session_id HAVING count(*) <> max(seq) OR min(seq) <> 1"
    ),
    "an idempotency key without its event": (
        "SELECT i.key FROM idempotency i LEFT JOIN audit_events e"
        " ON e.session_id = i.session_id AND e.seq = i.seq WHERE e.hash IS NULL"
    ),
    "a snapshot without its event": (
        "SELECT n.session_id FROM snapshots n LEFT JOIN audit_events e"
        " ON e.session_id = n.session_id AND e.seq = n.seq WHERE e.hash IS NULL"
    ),
}


class Place:
    """A data directory, or a PostgreSQL database beside it."""

    def __init__(self, data: Path, store: str | None = None) -> None:
        self.data = data
        self.store = store

    @property
    def file(self) -> Path:
        return self.data / "beliefd.db"

    @contextmanager
    def server(self) -> Iterator[ServerProcess]:
        """A server process; whatever is done to it, it must not stumble over a defect of its own."""
        with server_process(self.data, self.store) as server:
            yield server
            server.stop()
            assert "Traceback" not in server.output, server.output

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        if self.store is not None:
            return asyncio.run(_fetch(self.store, statement))
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.execute(statement).fetchall()

    def count(self, table: str) -> int:
        [(rows,)] = self.rows(f"SELECT count(*) FROM {table}")
        return int(rows)

    def check_whole(self) -> int:
        """Every session verifies and no table holds half of anything; returns how many events there are."""
        for what, statement in HALF_WRITTEN.items():
            assert self.rows(statement) == [], what
        checked = 0
        with Embedded(self.store or self.file, LOCAL_OPERATOR) as ledgers:  # who may read the server's own
            for (session_id,) in self.rows("SELECT session_id FROM sessions"):
                verified = ledgers.verify(session_id)
                assert verified.ok, verified.first_bad
                checked += verified.checked
        assert self.count("audit_events") == checked
        return checked


async def _fetch(url: str, statement: str) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(statement)]
    finally:
        await connection.close()


async def make_tokens(url: str) -> dict[Role, str]:
    """Those of an agent and of somebody who approves, on a database."""
    store = await PostgresStore.open(url)
    try:
        return {
            role: await create_token(store, name, role, Tier.PRIVILEGE)
            for role, name in ((Role.AGENT, "writer"), (Role.APPROVER, "ann"))
        }
    finally:
        await store.close()
