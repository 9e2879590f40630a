"""Rows of projections in SQLite, whichever projection they belong to."""

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Iterable
from typing import Any

from beliefd.kernel.values import Head
from beliefd.knowledge.graph import LinkRefused
from beliefd.stores.base import HeadMoved, Row
from beliefd.stores.sqlite.database import Database, text
from beliefd.stores.tables import TABLES, Table


def put_rows(connection: sqlite3.Connection, name: str, rows: Collection[Row]) -> None:
    """Add or change rows inside the caller's transaction."""
    try:
        for table in TABLES[name]:
            cells = [table.cells(row) for row in rows if isinstance(row, table.kind)]
            connection.executemany(_put(table), cells)
    except sqlite3.IntegrityError as error:
        raise LinkRefused(f"the database refuses a row of the {name}: {error}") from None


def _put(table: Table[Any]) -> str:
    marks = ", ".join("?" for _ in table.columns)
    return f"INSERT INTO {table.name} ({table.listed}) VALUES ({marks}) {table.on_conflict}"  # noqa: S608


class Projections(Database):
    """That part of the store."""

    async def projected(self, name: str, session_id: str) -> set[Row]:
        return _rows(self._all, name, session_id)

    async def replace_projection(
        self, session_id: str, expected: Head | None, name: str, rows: Iterable[Row]
    ) -> bool:
        wanted = set(rows)
        return await asyncio.to_thread(
            self._alone, lambda connection: _replaced(connection, session_id, expected, name, wanted)
        )

    async def strays(self, name: str) -> list[str]:
        found = {
            session_id.decode()
            for table in TABLES[name]
            for (session_id,) in self._all(
                f"SELECT session_id FROM {table.name} EXCEPT SELECT session_id FROM sessions"  # noqa: S608
            )
        }
        return sorted(found)


def _replaced(
    connection: sqlite3.Connection, session_id: str, expected: Head | None, name: str, rows: set[Row]
) -> bool:
    def ask(statement: str, *values: object) -> list[tuple[Any, ...]]:
        return connection.execute(statement, values).fetchall()

    # INVARIANT: rows and head are compared under the lock that every append takes.
    connection.execute("BEGIN IMMEDIATE")
    found = ask("SELECT head_seq, head_hash FROM sessions WHERE session_id = ?", session_id)
    if found != ([] if expected is None else [(expected.seq, expected.hash.encode())]):
        raise HeadMoved(session_id)
    if _rows(ask, name, session_id) == rows:
        return False
    for table in reversed(TABLES[name]):
        ask(f"DELETE FROM {table.name} WHERE session_id = ?", session_id)  # noqa: S608
    put_rows(connection, name, rows)
    connection.execute("COMMIT")
    return True


def _rows(ask: Callable[..., list[tuple[Any, ...]]], name: str, session_id: str) -> set[Row]:
    return {
        table.row(text(cells))
        for table in TABLES[name]
        for cells in ask(f"SELECT {table.listed} FROM {table.name} WHERE session_id = ?", session_id)  # noqa: S608
    }
