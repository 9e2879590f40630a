"""A PostgreSQL database as the parts of the store use it: one statement, one round trip."""

import contextlib
from collections.abc import Collection
from typing import Any, Final, TypeVar

import asyncpg

from beliefd.stores.base import StorageUnavailable
from beliefd.stores.sql.database import Database, Steps

T = TypeVar("T")
COMMAND_SECONDS: Final = 60.0
FAILURES: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
TAKEN: Final = (asyncpg.UniqueViolationError, asyncpg.TransactionRollbackError)
_CONNECTION_LOST: Final = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
)


class PostgresDatabase(Database):
    """Answers what all parts of the store ask."""

    AMONG = "= ANY($1::text[])"
    # Every append moves a head in this table, and waits here; readers do not.
    HOLD_APPENDS = ("LOCK TABLE sessions IN SHARE MODE",)

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._closed = False

    async def _write(self, statement: str, *values: object) -> Any:
        """Run one writing statement; say of a failure whether something may have been written."""
        try:
            connection = await self._pool.acquire(timeout=COMMAND_SECONDS)
        except FAILURES as error:
            raise StorageUnavailable(f"nothing was written: {words(error)}") from None
        try:
            return await connection.fetchval(statement, *values)
        except (*TAKEN, asyncpg.ForeignKeyViolationError):
            raise
        except FAILURES as error:
            outcome = (
                "nothing was written" if _rolled_back(error) else "it is not known whether it was written"
            )
            raise StorageUnavailable(f"{outcome}: {words(error)}") from None
        finally:
            with contextlib.suppress(*FAILURES):  # a connection that cannot be given back is dropped
                await self._pool.release(connection)

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
            async with (
                self._pool.acquire(timeout=COMMAND_SECONDS) as connection,
                connection.transaction(),
            ):
                return await _taken(connection, steps)
        except FAILURES as error:
            raise StorageUnavailable(words(error)) from None

    def _list(self, texts: Collection[str]) -> list[str]:
        return list(texts)

    async def _fetch(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        async with self._pool.acquire(timeout=COMMAND_SECONDS) as connection:
            rows: list[Any] = await connection.fetch(statement, *values)
            return rows


async def _taken(connection: Any, steps: Steps[T]) -> T:
    rows: Any = None
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
    """One line: PostgreSQL adds details and hints below it."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error).partition("\n")[0] or type(error).__name__
