"""The inbox in SQLite: what waits, what is due, and what nobody has been told of yet."""

import asyncio
from typing import Final

from beliefd.stores.base import InboxRow
from beliefd.stores.sqlite.database import Database, text
from beliefd.stores.tables import APPROVALS

_INBOX: Final = APPROVALS.listed


class Inbox(Database):
    """The inbox's part of the store."""

    async def inbox(self, status: str | None, after: str | None, limit: int) -> list[InboxRow]:
        rows = self._all(
            f"SELECT {_INBOX} FROM inbox WHERE approval_id > ? AND (? IS NULL OR status = ?)"  # noqa: S608
            " ORDER BY approval_id LIMIT ?",
            after or "",
            status,
            status,
            limit,
        )
        return [InboxRow(*text(row)) for row in rows]

    async def inbox_row(self, approval_id: str) -> InboxRow | None:
        row = self._one(f"SELECT {_INBOX} FROM inbox WHERE approval_id = ?", approval_id)  # noqa: S608
        return None if row is None else InboxRow(*text(row))

    async def inbox_due(self, now: str, limit: int) -> list[InboxRow]:
        rows = self._all(
            f"SELECT {_INBOX} FROM inbox WHERE expires_at <= ?"  # noqa: S608
            " ORDER BY expires_at LIMIT ?",
            now,
            limit,
        )
        return [InboxRow(*text(row)) for row in rows]

    async def inbox_untold(self, limit: int) -> list[InboxRow]:
        rows = self._all(
            f"SELECT {_INBOX} FROM inbox WHERE status = 'pending'"  # noqa: S608
            " AND approval_id NOT IN (SELECT approval_id FROM inbox_told) ORDER BY approval_id LIMIT ?",
            limit,
        )
        return [InboxRow(*text(row)) for row in rows]

    async def inbox_told(self, approval_id: str) -> None:
        statement = "INSERT OR IGNORE INTO inbox_told (approval_id) VALUES (?)"
        await asyncio.to_thread(self._execute_alone, statement, approval_id)
