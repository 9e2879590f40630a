"""A PostgreSQL database as the parts of the store use it: one statement, one round trip."""

import asyncio
import contextlib
import os
from collections.abc import Collection, Coroutine
from typing import Any, Final, TypeVar

import asyncpg

from beliefd.stores.base import StorageUnavailable
from beliefd.stores.sql.database import Database, Steps

T = TypeVar("T")
COMMAND_SECONDS: Final = 60.0
RELEASE_SECONDS: Final = 1.0
DRIVER_SECONDS: Final = 2 * COMMAND_SECONDS
"""After so long the driver calls a statement off by itself; what writes has ended before."""
FAILURES: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
DURABLY: Final = "set_config('synchronous_commit', 'on', true)"
"""For the rest of the transaction. Behind a pooler nobody knows what others have set on a connection, so what
is written says so itself; appends in the statement, all else before it."""
TAKEN: Final = (asyncpg.UniqueViolationError, asyncpg.TransactionRollbackError)
NO_ROOM: Final = "there is no room for it on the disk of the database"
_CONNECTION_LOST: Final = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
)


class Undone(StorageUnavailable):
    """The server refused a statement and lives on: nothing of it was written."""


class PostgresDatabase(Database):
    """Answers what all parts of the store ask."""

    AMONG = "= ANY($1::text[])"
    CLOCK = "extract(epoch FROM clock_timestamp())::float8"
    # Every append moves a head in this table, and waits here; readers do not.
    HOLD_APPENDS = ("LOCK TABLE sessions IN SHARE MODE",)

    def __init__(self, pool: Any, pooled: bool = False) -> None:
        self._pool = pool
        self._pooled = pooled
        """Is there a pooler between us and the database, which hands out connections by the transaction?"""
        self._closed = False
        self.is_full = False
        """Was a write refused because there is no room, and has there been none since that takes some?"""

    async def _write(self, statement: str, *values: object) -> Any:
        """Run one writing statement; say of a failure whether something may have been written."""
        try:
            connection = await self._pool.acquire(timeout=COMMAND_SECONDS)
        except FAILURES as error:
            raise StorageUnavailable(f"nothing was written: {words(error)}") from None
        try:
            return await _to_its_end(connection, self._durably(connection, statement, values))
        except (*TAKEN, asyncpg.ForeignKeyViolationError):
            raise
        except FAILURES as error:
            self.is_full = self.is_full or isinstance(error, asyncpg.DiskFullError)
            if _rolled_back(error):
                raise Undone(f"nothing was written: {words(error)}") from None
            raise StorageUnavailable(f"it is not known whether it was written: {words(error)}") from None
        finally:
            with contextlib.suppress(*FAILURES):  # a connection that cannot be given back is dropped
                await self._pool.release(connection)

    async def _durably(self, connection: Any, statement: str, values: tuple[object, ...]) -> Any:
        if not self._pooled or DURABLY in statement:
            return await connection.fetchval(statement, *values)
        async with connection.transaction():
            await connection.execute(f"SELECT {DURABLY}")
            return await connection.fetchval(statement, *values)

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
            raise StorageUnavailable(words(error)) from None

    async def _together(self, steps: Steps[T]) -> T:
        try:
            async with self._pool.acquire(timeout=COMMAND_SECONDS) as connection:
                before = f"SELECT {DURABLY}" if self._pooled else ""
                return await _to_its_end(connection, _taken(connection, steps, before))
        except FAILURES as error:
            self.is_full = self.is_full or isinstance(error, asyncpg.DiskFullError)
            raise StorageUnavailable(words(error)) from None

    def _list(self, texts: Collection[str]) -> list[str]:
        return list(texts)

    async def _fetch(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        connection = await self._pool.acquire(timeout=COMMAND_SECONDS)
        try:
            rows: list[Any] = await connection.fetch(statement, *values, timeout=COMMAND_SECONDS)
            return rows
        finally:
            # A host that does not answer does not hear either that a statement is called off.
            with contextlib.suppress(*FAILURES):
                await self._pool.release(connection, timeout=RELEASE_SECONDS)


async def _to_its_end(connection: Any, work: Coroutine[Any, Any, T]) -> T:
    """What the work returns. If that takes too long, or nobody waits for it any more, the line is cut.

    INVARIANT: a commit under way is never called off. The driver would do so, and PostgreSQL, if it waits for
    a standby, would then let everybody see what no standby has. A backend whose line is cut waits on, and
    holds its locks.
    """
    task = asyncio.ensure_future(work)
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            return await asyncio.shield(task)
    finally:
        if not task.done():
            connection.terminate()
            await asyncio.gather(task, return_exceptions=True)


async def _taken(connection: Any, steps: Steps[T], before: str) -> T:
    rows: Any = None
    async with connection.transaction():
        if before:
            await connection.execute(before)
        while True:
            try:
                statement, *values = steps.send(rows)
            except StopIteration as end:
                outcome: T = end.value
                return outcome
            rows = await connection.fetch(statement, *values)


def _rolled_back(error: BaseException) -> bool:
    """The server answered with an error for the statement and lives on: then its transaction is gone."""
    return getattr(error, "severity_en", None) == "ERROR" or isinstance(error, asyncpg.DataError)


def words(error: BaseException) -> str:
    """One line of ours, or of PostgreSQL, which adds details and hints below it; none of the driver's."""
    if isinstance(error, TimeoutError):
        return "the database did not answer in time"
    if isinstance(error, asyncpg.exceptions.TargetServerAttributeNotMatched):
        return "no host of the database takes writes"
    if isinstance(error, asyncpg.DataError):
        return "there is text in it that the database cannot hold"
    if isinstance(error, asyncpg.DiskFullError):
        return NO_ROOM
    if isinstance(error, ValueError):  # an address that cannot be read
        return str(error).partition("\n")[0]
    if isinstance(error, asyncpg.PostgresError) and not isinstance(error, asyncpg.PostgresConnectionError):
        return str(error).partition("\n")[0] or type(error).__name__
    if isinstance(error, OSError):
        return "the database cannot be reached" + (f": {os.strerror(error.errno)}" if error.errno else "")
    return "the connection to the database was lost"
