"""The inbox in PostgreSQL: what waits, what is due, and what nobody has been told of yet."""

from typing import Final

from beliefd.stores.base import InboxRow
from beliefd.stores.postgres.database import Database
from beliefd.stores.tables import APPROVALS

_INBOX: Final = APPROVALS.listed


class Inbox(Database):
    """The inbox's part of the store."""

    async def inbox(self, status: str | None, after: str | None, limit: int) -> list[InboxRow]:
        rows = await self._all(
            f"SELECT {_INBOX} FROM inbox WHERE approval_id > $1 AND ($2::text IS NULL OR status = $2)"  # noqa: S608
            " ORDER BY approval_id LIMIT $3",
            after or "",
            status,
            limit,
        )
        return [InboxRow(*row) for row in rows]

    async def inbox_row(self, approval_id: str) -> InboxRow | None:
        row = await self._one(f"SELECT {_INBOX} FROM inbox WHERE approval_id = $1", approval_id)  # noqa: S608
        return None if row is None else InboxRow(*row)

    async def inbox_due(self, now: str, limit: int) -> list[InboxRow]:
        rows = await self._all(
            f"SELECT {_INBOX} FROM inbox WHERE expires_at <= $1"  # noqa: S608
            " ORDER BY expires_at LIMIT $2",
            now,
            limit,
        )
        return [InboxRow(*row) for row in rows]

    async def inbox_untold(self, limit: int) -> list[InboxRow]:
        rows = await self._all(
            f"SELECT {_INBOX} FROM inbox WHERE status = 'pending' AND NOT EXISTS"  # noqa: S608
            " (SELECT 1 FROM inbox_told WHERE inbox_told.approval_id = inbox.approval_id)"
            " ORDER BY approval_id LIMIT $1",
            limit,
        )
        return [InboxRow(*row) for row in rows]

    async def inbox_told(self, approval_id: str) -> None:
        statement = "INSERT INTO inbox_told (approval_id) VALUES ($1) ON CONFLICT DO NOTHING"
        await self._write(statement, approval_id)
