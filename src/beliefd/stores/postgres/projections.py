"""Rows of projections in PostgreSQL, whichever projection they belong to."""

from collections.abc import Collection, Iterable
from typing import Any

import asyncpg

from beliefd.kernel.values import Head
from beliefd.knowledge.graph import LinkRefused
from beliefd.stores.base import HeadMoved, StorageUnavailable
from beliefd.stores.postgres.database import COMMAND_SECONDS, FAILURES, PostgresDatabase, words
from beliefd.stores.projections import Row
from beliefd.stores.sql.projections import Projections, rows_of
from beliefd.stores.sql.tables import TABLES


def put_rows(name: str, first: int, source: str = "") -> tuple[str, int]:
    """More parts of a statement that begins with WITH, and the number of the first parameter after theirs."""
    parts = []
    for table in TABLES[name]:
        after = first + len(table.columns)
        arrays = ", ".join(f"${number}::text[]" for number in range(first, after))
        parts.append(f"""
, put_{table.name} AS (
    INSERT INTO {table.name} ({table.listed})
    SELECT new.* FROM {source}unnest({arrays}) AS new
    {table.on_conflict}
)""")  # noqa: S608 - made of constants
        first = after
    return "".join(parts), first


def row_parameters(name: str, rows: Collection[Row]) -> list[object]:
    """One array per column."""
    parameters: list[object] = []
    for table in TABLES[name]:
        cells = [table.cells(row) for row in rows if isinstance(row, table.kind)]
        parameters += ([row[n] for row in cells] for n in range(len(table.columns)))
    return parameters


class PostgresProjections(PostgresDatabase, Projections):
    """That part of the store, with what replaces rows."""

    async def replace_projection(
        self, session_id: str, expected: Head | None, name: str, rows: Iterable[Row]
    ) -> bool:
        try:
            # INVARIANT: rows and head are compared under the lock that every append to the session takes.
            # A session that is not there cannot be locked; should it come into being, it is not seen.
            isolation = "repeatable_read" if expected is None else "read_committed"
            async with (
                self._pool.acquire(timeout=COMMAND_SECONDS) as connection,
                connection.transaction(isolation=isolation),
            ):
                return await _replaced(connection, session_id, expected, name, set(rows))
        except asyncpg.SerializationError:
            raise HeadMoved(session_id) from None
        except asyncpg.ForeignKeyViolationError as error:
            raise LinkRefused(f"the database refuses a row of the {name}: {words(error)}") from None
        except FAILURES as error:
            raise StorageUnavailable(words(error)) from None


async def _replaced(
    connection: Any, session_id: str, expected: Head | None, name: str, rows: set[Row]
) -> bool:
    head = await connection.fetchrow(
        "SELECT head_seq, head_hash FROM sessions WHERE session_id = $1 FOR UPDATE", session_id
    )
    if (head and tuple(head)) != (expected and (expected.seq, expected.hash)):
        raise HeadMoved(session_id)
    if await rows_of(connection.fetch, name, session_id) == rows:
        return False
    for table in reversed(TABLES[name]):
        await connection.execute(table.delete_session, session_id)
    parts, _ = put_rows(name, 1)
    await connection.execute(f"WITH nothing AS (SELECT){parts} SELECT 1", *row_parameters(name, rows))
    return True
