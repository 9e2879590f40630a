"""Rows of projections in a database, whichever projection they belong to."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from beliefd.stores.projections import Row
from beliefd.stores.sql.database import Database
from beliefd.stores.sql.tables import TABLES


class Projections(Database):
    """That part of the store, but for what replaces rows."""

    async def projected(self, name: str, session_id: str) -> set[Row]:
        return await rows_of(self._all, name, session_id)

    async def strays(self, name: str) -> list[str]:
        found: set[str] = set()
        for table in TABLES[name]:
            statement = f"SELECT session_id FROM {table.name} EXCEPT SELECT session_id FROM sessions"  # noqa: S608
            found |= {session_id for (session_id,) in await self._all(statement)}
        return sorted(found)


async def rows_of(
    ask: Callable[..., Awaitable[Sequence[Sequence[Any]]]], name: str, session_id: str
) -> set[Row]:
    """All rows that a session has in a projection."""
    found: set[Row] = set()
    for table in TABLES[name]:
        found |= {table.row(cells) for cells in await ask(table.select_session, session_id)}
    return found
