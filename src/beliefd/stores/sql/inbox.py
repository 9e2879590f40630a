"""The inbox in a database: what waits, what is due, and what nobody has been told of yet."""

from beliefd.stores.projections import InboxRow
from beliefd.stores.sql.database import Database
from beliefd.stores.sql.tables import APPROVALS
from beliefd.stores.within import Within


class Inbox(Database):
    """The inbox's part of the store."""

    async def inbox(
        self, status: str | None, after: str | None, limit: int, within: Within = None
    ) -> list[InboxRow]:
        seen, spaces = self._within(within, 4, "inbox")
        where = f"approval_id > $1 AND (CAST($2 AS text) IS NULL OR status = $2){seen}"
        ordered = f"{where} ORDER BY approval_id LIMIT $3"
        return await self._approvals(ordered, after or "", status, limit, *spaces)

    async def inbox_row(self, approval_id: str) -> InboxRow | None:
        return next(iter(await self._approvals("approval_id = $1", approval_id)), None)

    async def inbox_count(self, principal: str, status: str) -> int:
        ((count,),) = await self._all(
            "SELECT count(*) FROM inbox WHERE principal = $1 AND status = $2", principal, status
        )
        return int(count)

    async def inbox_due(self, now: str, limit: int) -> list[InboxRow]:
        return await self._approvals("expires_at <= $1 ORDER BY expires_at LIMIT $2", now, limit)

    async def inbox_untold(self, limit: int) -> list[InboxRow]:
        told = "SELECT 1 FROM inbox_told WHERE inbox_told.approval_id = inbox.approval_id"
        where = f"status = 'pending' AND NOT EXISTS ({told}) ORDER BY approval_id LIMIT $1"
        return await self._approvals(where, limit)

    async def inbox_told(self, approval_id: str) -> None:
        statement = "INSERT INTO inbox_told (approval_id) VALUES ($1) ON CONFLICT DO NOTHING"
        await self._write(statement, approval_id)

    async def inbox_settled(self, limit: int) -> list[InboxRow]:
        told = "SELECT approval_id FROM inbox_told"
        where = f"approval_id IN ({told}) AND status <> 'pending' ORDER BY approval_id LIMIT $1"
        return await self._approvals(where, limit)

    async def inbox_forgotten(self, approval_id: str) -> None:
        await self._write("DELETE FROM inbox_told WHERE approval_id = $1", approval_id)

    async def _approvals(self, where: str, *values: object) -> list[InboxRow]:
        return [InboxRow(*row) for row in await self._all(f"{APPROVALS.select} WHERE {where}", *values)]
