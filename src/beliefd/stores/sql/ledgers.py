"""Short questions about ledgers: where one ends, what is known of it, which there are."""

from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import ClassVar

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.values import Head
from beliefd.ledger.envelope import LedgerBroken, Sealed
from beliefd.stores.archives import Archived, SessionArchived
from beliefd.stores.base import CHUNK_BYTES, SavedState, SessionRow, UsedKey
from beliefd.stores.sql.database import Database
from beliefd.stores.within import Within


class Ledgers(Database):
    """That part of the store which only reads."""

    CHUNK: ClassVar[int]
    """So many entries a stream holds at once."""

    async def head(self, session_id: str) -> Head | None:
        row = await self._one(
            "SELECT head_seq, head_event_id, head_hash, archived FROM sessions WHERE session_id = $1",
            session_id,
        )
        if row is None:
            return None
        if row[3] and (stub := await self.archived(session_id)) is not None:
            raise SessionArchived(stub)
        if type(row[0]) is not int:  # SQLite keeps a text in a column of numbers if somebody put one
            raise LedgerBroken(0, None, "its head cannot be read")
        return Head(seq=row[0], event_id=row[1], hash=row[2])

    @abstractmethod
    async def archived(self, session_id: str) -> Archived | None: ...

    @abstractmethod
    async def entries(
        self, session_id: str, after: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> list[Sealed]: ...

    async def stream(self, session_id: str, after: int = 0) -> AsyncIterator[list[Sealed]]:
        while chunk := await self.entries(session_id, after, self.CHUNK, CHUNK_BYTES):
            yield chunk
            after = chunk[-1].seq

    async def seq_of(self, session_id: str, event_id: str) -> int | None:
        statement = "SELECT seq FROM audit_events WHERE event_id = $1 AND session_id = $2"
        row = await self._one(statement, event_id, session_id)
        return None if row is None else int(row[0])

    async def saved_state(self, session_id: str, upto: int | None = None) -> SavedState | None:
        row = await self._one(
            "SELECT seq, state FROM snapshots WHERE session_id = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1",
            session_id,
            MAX_SAFE_INTEGER if upto is None else upto,
        )
        return None if row is None else SavedState(*row)

    async def sessions(self, after: str | None, limit: int, within: Within = None) -> list[SessionRow]:
        seen, spaces = self._within(within, 3, "sessions")
        rows = await self._all(
            "SELECT session_id, created_at, head_seq, head_event_id, head_hash FROM sessions"  # noqa: S608
            f" WHERE session_id > $1 AND archived = 0{seen} ORDER BY session_id LIMIT $2",
            after or "",
            limit,
            *spaces,
        )
        return [
            SessionRow(session_id, created_at, Head(seq=seq, event_id=event_id, hash=hash_))
            for session_id, created_at, seq, event_id, hash_ in rows
        ]

    async def space_of(self, session_id: str) -> str | None:
        row = await self._one("SELECT space FROM sessions WHERE session_id = $1", session_id)
        return None if row is None else str(row[0])

    async def open_sessions(self, principal: str) -> int:
        statement = "SELECT count(*) FROM sessions WHERE declared_by = $1 AND ended = 0"
        row = await self._one(statement, principal)
        return 0 if row is None else int(row[0])

    async def used_key(self, principal: str, key: str) -> UsedKey | None:
        row = await self._one(
            "SELECT principal, key, request_hash, session_id, seq FROM idempotency"
            " WHERE principal = $1 AND key = $2",
            principal,
            key,
        )
        return None if row is None else UsedKey(*row)
