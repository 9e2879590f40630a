"""The inbox in SQLite: what waits, what is due, and what nobody has been told of yet."""

import asyncio
from abc import ABC, abstractmethod
from typing import Any, Final

from beliefd.stores.base import InboxRow

_INBOX: Final = "approval_id, session_id, status, opened_at, expires_at"


class SqliteInbox(ABC):
    """The inbox's part of the store."""

    @abstractmethod
    def _one(self, statement: str, *values: object) -> tuple[Any, ...] | None: ...

    @abstractmethod
    def _all(self, statement: str, *values: object) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def _execute_alone(self, statement: str, *values: object) -> int: ...

    async def inbox(self, status: str | None, after: str | None, limit: int) -> list[InboxRow]:
        rows = self._all(
            f"SELECT {_INBOX} FROM inbox WHERE approval_id > ? AND (? IS NULL OR status = ?)"  # noqa: S608
            " ORDER BY approval_id LIMIT ?",
            after or "",
            status,
            status,
            limit,
        )
        return [_inbox_row(row) for row in rows]

    async def inbox_row(self, approval_id: str) -> InboxRow | None:
        row = self._one(f"SELECT {_INBOX} FROM inbox WHERE approval_id = ?", approval_id)  # noqa: S608
        return None if row is None else _inbox_row(row)

    async def inbox_due(self, now: str, limit: int) -> list[InboxRow]:
        rows = self._all(
            f"SELECT {_INBOX} FROM inbox WHERE expires_at <= ?"  # noqa: S608
            " ORDER BY expires_at LIMIT ?",
            now,
            limit,
        )
        return [_inbox_row(row) for row in rows]

    async def inbox_untold(self, limit: int) -> list[InboxRow]:
        rows = self._all(
            f"SELECT {_INBOX} FROM inbox WHERE status = 'pending' AND told = 0"  # noqa: S608
            " ORDER BY approval_id LIMIT ?",
            limit,
        )
        return [_inbox_row(row) for row in rows]

    async def inbox_told(self, approval_id: str) -> None:
        statement = "UPDATE inbox SET told = 1 WHERE approval_id = ?"
        await asyncio.to_thread(self._execute_alone, statement, approval_id)


def _inbox_row(row: tuple[Any, ...]) -> InboxRow:
    approval_id, session_id, status, opened_at = (cell.decode() for cell in row[:4])
    return InboxRow(approval_id, session_id, status, opened_at, row[4].decode() if row[4] else None)
