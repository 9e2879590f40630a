"""Rows of projections in SQLite, whichever projection they belong to."""

import asyncio
import sqlite3
from collections.abc import Collection, Iterable
from typing import Any

from beliefd.kernel.values import Head
from beliefd.knowledge.graph import LinkRefused
from beliefd.stores.base import HeadMoved
from beliefd.stores.projections import Row
from beliefd.stores.sql.projections import Projections
from beliefd.stores.sql.tables import TABLES, Table
from beliefd.stores.sqlite.database import SqliteDatabase, named


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


class SqliteProjections(SqliteDatabase, Projections):
    """That part of the store, with what replaces rows."""

    async def replace_projection(
        self, session_id: str, expected: Head | None, name: str, rows: Iterable[Row]
    ) -> bool:
        wanted = set(rows)
        return await asyncio.to_thread(
            self._alone, lambda connection: _replaced(connection, session_id, expected, name, wanted)
        )


def _replaced(
    connection: sqlite3.Connection, session_id: str, expected: Head | None, name: str, rows: set[Row]
) -> bool:
    def ask(statement: str) -> list[tuple[Any, ...]]:
        return connection.execute(statement, named((session_id,))).fetchall()

    # INVARIANT: rows and head are compared under the lock that every append takes.
    connection.execute("BEGIN IMMEDIATE")
    found = ask("SELECT head_seq, head_hash FROM sessions WHERE session_id = $1")
    if found != ([] if expected is None else [(expected.seq, expected.hash)]):
        raise HeadMoved(session_id)
    if rows == {table.row(cells) for table in TABLES[name] for cells in ask(table.select_session)}:
        return False
    for table in reversed(TABLES[name]):
        ask(table.delete_session)
    put_rows(connection, name, rows)
    connection.execute("COMMIT")
    return True
