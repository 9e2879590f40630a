"""The shared store: PostgreSQL through asyncpg, for any number of server processes on the same ledgers.

Each method is one statement and one round trip; how an append is one, too, is in postgres_append.py.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, TypeVar

import asyncpg

from beliefd.kernel.values import Head
from beliefd.knowledge.graph import LinkRefused
from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import (
    Append,
    HeadMoved,
    InboxRow,
    Listener,
    Remembered,
    SessionRow,
    Snapshot,
    StorageUnavailable,
)
from beliefd.stores.listeners import Listeners
from beliefd.stores.postgres_append import append_statement
from beliefd.stores.postgres_feed import FAILURES, Feed
from beliefd.stores.postgres_graph import PostgresGraph
from beliefd.stores.postgres_schema import migrate
from beliefd.stores.postgres_shelf import PostgresShelf

CHUNK: Final = 1_000
CONNECTIONS: Final = 16
CONNECT_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 2.0
COMMAND_SECONDS: Final = 60.0

T = TypeVar("T")
_INBOX: Final = "approval_id, session_id, status, opened_at, expires_at"
_TAKEN: Final = (asyncpg.UniqueViolationError, asyncpg.TransactionRollbackError)
_CONNECTION_LOST: Final = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
)


class _Connection(asyncpg.Connection):  # type: ignore[misc]
    """Our statements leave nothing behind on a connection, so giving it back costs no round trip."""

    def get_reset_query(self) -> str:
        return ""


class PostgresStore(PostgresGraph, PostgresShelf):
    """Open with `await PostgresStore.open(url)`."""

    keeps_order = False  # each append takes the next free connection

    def __init__(self, pool: Any, url: str) -> None:
        self._pool = pool
        self._listeners = Listeners()
        # A notice needs no fsync: whoever misses it looks again by himself.
        self._feed = Feed(lambda: _connect(asyncpg.connect, url, synchronous_commit="off"), self._listeners)
        self._closed = False

    @classmethod
    async def open(cls, url: str) -> "PostgresStore":
        pool = None
        try:
            # No connection is kept in reserve: one that dies is replaced when it is needed, not before.
            pool = await _connect(
                asyncpg.create_pool,
                url,
                synchronous_commit="on",
                min_size=0,
                max_size=CONNECTIONS,
                connection_class=_Connection,
            )
            async with pool.acquire() as connection:
                await _check_encoding(connection)
                await migrate(connection)
        except BaseException as error:
            if pool is not None:
                pool.terminate()
            if isinstance(error, (*FAILURES, ValueError)):
                raise StorageUnavailable(f"cannot open `{_place(url)}`: {_words(error)}") from None
            raise
        return cls(pool, url)

    # -- writing ---------------------------------------------------------------------------------

    async def append(self, batch: Append) -> None:
        if self._closed:
            raise StorageUnavailable("the store is closed")
        statement, parameters = append_statement(batch)
        try:
            moved = await self._write(statement, *parameters)
        except _TAKEN:
            raise HeadMoved(batch.session_id) from None
        except asyncpg.ForeignKeyViolationError as error:
            raise LinkRefused(f"the database refuses a link of the graph: {_words(error)}") from None
        if not moved:
            raise HeadMoved(batch.session_id)
        self._feed.grown(batch.session_id)

    async def _write(self, statement: str, *values: object) -> Any:
        """Run one writing statement; say of a failure whether something may have been written."""
        try:
            connection = await self._pool.acquire(timeout=COMMAND_SECONDS)
        except FAILURES as error:
            raise StorageUnavailable(f"nothing was written: {_words(error)}") from None
        try:
            return await connection.fetchval(statement, *values)
        except (*_TAKEN, asyncpg.ForeignKeyViolationError):
            raise
        except FAILURES as error:
            outcome = (
                "nothing was written" if _rolled_back(error) else "it is not known whether it was written"
            )
            raise StorageUnavailable(f"{outcome}: {_words(error)}") from None
        finally:
            with contextlib.suppress(*FAILURES):  # a connection that cannot be given back is dropped
                await self._pool.release(connection)

    # -- reading ---------------------------------------------------------------------------------

    async def head(self, session_id: str) -> Head | None:
        row = await self._one(
            "SELECT head_seq, head_event_id, head_hash FROM sessions WHERE session_id = $1", session_id
        )
        return None if row is None else Head(seq=row[0], event_id=row[1], hash=row[2])

    async def entries(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Sealed]:
        rows = await self._all(
            "SELECT seq, event_id, record, hash FROM audit_events"
            " WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
            session_id,
            after,
            limit,
        )
        return [Sealed(seq, event_id, record.encode(), hash_) for seq, event_id, record, hash_ in rows]

    async def stream(self, session_id: str, after: int = 0) -> AsyncIterator[list[Sealed]]:
        while chunk := await self.entries(session_id, after, CHUNK):
            yield chunk
            after = chunk[-1].seq

    async def replay(
        self, session_id: str, after: int, upto: int, take: Callable[[list[bytes]], None]
    ) -> None:
        while after < upto:
            rows = await self._all(
                "SELECT record FROM audit_events WHERE session_id = $1 AND seq > $2 AND seq <= $3"
                " ORDER BY seq LIMIT $4",
                session_id,
                after,
                upto,
                CHUNK,
            )
            if not rows:
                return
            await asyncio.to_thread(take, [record.encode() for (record,) in rows])
            after += len(rows)

    async def seq_of(self, session_id: str, event_id: str) -> int | None:
        row = await self._one(
            "SELECT seq FROM audit_events WHERE event_id = $1 AND session_id = $2", event_id, session_id
        )
        return None if row is None else int(row[0])

    async def snapshot(self, session_id: str, upto: int | None = None) -> Snapshot | None:
        row = await self._one(
            "SELECT seq, state FROM snapshots WHERE session_id = $1 AND ($2::bigint IS NULL OR seq <= $2)"
            " ORDER BY seq DESC LIMIT 1",
            session_id,
            upto,
        )
        return None if row is None else Snapshot(row[0], row[1])

    async def sessions(self, after: str | None, limit: int) -> list[SessionRow]:
        rows = await self._all(
            "SELECT session_id, created_at, head_seq, head_event_id, head_hash FROM sessions"
            " WHERE session_id > $1 ORDER BY session_id LIMIT $2",
            after or "",
            limit,
        )
        return [
            SessionRow(session_id, created_at, Head(seq=seq, event_id=event_id, hash=hash_))
            for session_id, created_at, seq, event_id, hash_ in rows
        ]

    async def remembered(self, principal: str, key: str) -> Remembered | None:
        row = await self._one(
            "SELECT principal, key, request_hash, session_id, seq FROM idempotency"
            " WHERE principal = $1 AND key = $2",
            principal,
            key,
        )
        return None if row is None else Remembered(*row)

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
            f"SELECT {_INBOX} FROM inbox WHERE status = 'pending' AND told = 0"  # noqa: S608
            " ORDER BY approval_id LIMIT $1",
            limit,
        )
        return [InboxRow(*row) for row in rows]

    async def inbox_told(self, approval_id: str) -> None:
        await self._write("UPDATE inbox SET told = 1 WHERE approval_id = $1", approval_id)

    # -- life ------------------------------------------------------------------------------------

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Listeners are called on the event loop that opened the store; `""` means: look for yourself."""
        return self._listeners.add(listener)

    async def ping(self) -> None:
        row = await self._one("SELECT current_setting('transaction_read_only')")
        if row is None or row[0] != "off":
            raise StorageUnavailable("the database is read-only")

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._listeners.clear()
        await self._feed.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._pool.close()
        except FAILURES:
            self._pool.terminate()

    async def _in_transaction(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """A rare write of several statements outside the ledger."""
        try:
            async with self._pool.acquire(timeout=COMMAND_SECONDS) as connection, connection.transaction():
                return await work(connection)
        except FAILURES as error:
            raise StorageUnavailable(_words(error)) from None

    async def _one(self, statement: str, *values: object) -> Any:
        rows = await self._all(statement, *values)
        return rows[0] if rows else None

    async def _all(self, statement: str, *values: object) -> list[Any]:
        try:
            try:
                return await self._fetch(statement, values)
            except _CONNECTION_LOST as error:
                if isinstance(error, TimeoutError) or self._closed:
                    raise
                # The server was restarted since this connection was used: none of the pool's is any good.
                await self._pool.expire_connections()
                return await self._fetch(statement, values)
        except asyncpg.DataError:
            return []  # text that PostgreSQL cannot hold (NUL, lone surrogates) names nothing that is here
        except FAILURES as error:
            raise StorageUnavailable(_words(error)) from None

    async def _fetch(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        async with self._pool.acquire(timeout=COMMAND_SECONDS) as connection:
            rows: list[Any] = await connection.fetch(statement, *values)
            return rows


async def _connect(how: Callable[..., Any], url: str, *, synchronous_commit: str, **options: object) -> Any:
    return await how(
        url,
        timeout=CONNECT_SECONDS,
        command_timeout=COMMAND_SECONDS,
        server_settings={"application_name": "beliefd", "synchronous_commit": synchronous_commit},
        **options,
    )


async def _check_encoding(connection: Any) -> None:
    encoding = await connection.fetchval("SHOW server_encoding")
    if encoding != "UTF8":
        raise StorageUnavailable(f"the database is encoded in {encoding}; records need UTF8")


def _rolled_back(error: BaseException) -> bool:
    """The server answered with an error for the statement and lives on: then its transaction is gone."""
    return getattr(error, "severity_en", None) == "ERROR" or isinstance(error, asyncpg.DataError)


def _words(error: BaseException) -> str:
    """One line: PostgreSQL adds details and hints below it."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error).partition("\n")[0] or type(error).__name__


def _place(url: str) -> str:
    """The address without what may be secret: user, password, options."""
    return "postgresql://" + url.partition("://")[2].partition("?")[0].rpartition("@")[2]
