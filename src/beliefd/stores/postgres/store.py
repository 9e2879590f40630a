"""The shared store: PostgreSQL through asyncpg, for any number of server processes on the same ledgers.

Each method is one statement and one round trip; how an append is one, too, is in append.py.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import asyncpg

from beliefd.knowledge.graph import LinkRefused
from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import CHUNK_BYTES, Append, HeadMoved, Listener, StorageUnavailable
from beliefd.stores.listeners import Listeners
from beliefd.stores.postgres.append import append_statement
from beliefd.stores.postgres.database import COMMAND_SECONDS, FAILURES, TAKEN, words
from beliefd.stores.postgres.feed import Feed
from beliefd.stores.postgres.projections import PostgresProjections
from beliefd.stores.postgres.schema import migrate
from beliefd.stores.sql.content import Content
from beliefd.stores.sql.graph import Graph
from beliefd.stores.sql.inbox import Inbox
from beliefd.stores.sql.ledgers import Ledgers
from beliefd.stores.sql.settings import Settings

CONNECTIONS: Final = 16
CONNECT_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 2.0
_ROWS: Final = (
    "SELECT seq, event_id, record, hash FROM audit_events"
    " WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3"
)
_CHUNK: Final = f"""
    SELECT seq, event_id, record, hash FROM (
        SELECT *, sum(octet_length(record)) OVER (ORDER BY seq) - octet_length(record) AS length
        FROM ({_ROWS}) AS found
    ) AS measured WHERE length < $4 ORDER BY seq
"""  # noqa: S608 - made of constants


class _Connection(asyncpg.Connection):  # type: ignore[misc]
    """Our statements leave nothing behind on a connection, so giving it back costs no round trip."""

    def get_reset_query(self) -> str:
        return ""


class PostgresStore(PostgresProjections, Ledgers, Graph, Inbox, Content, Settings):
    """Open with `await PostgresStore.open(url)`."""

    CHUNK = 1_000
    keeps_order = False  # each append takes the next free connection

    def __init__(self, pool: Any, url: str) -> None:
        super().__init__(pool)
        self._listeners = Listeners()
        # A notice needs no fsync: whoever misses it looks again by himself.
        self._feed = Feed(lambda: _connect(asyncpg.connect, url, synchronous_commit="off"), self._listeners)

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
                raise StorageUnavailable(f"cannot open `{_place(url)}`: {words(error)}") from None
            raise
        return cls(pool, url)

    # -- writing ---------------------------------------------------------------------------------

    async def append(self, batch: Append) -> None:
        if self._closed:
            raise StorageUnavailable("the store is closed")
        statement, parameters = append_statement(batch)
        try:
            moved = await self._write(statement, *parameters)
        except TAKEN:
            raise HeadMoved(batch.session_id) from None
        except asyncpg.ForeignKeyViolationError as error:
            raise LinkRefused(f"the database refuses a row of a projection: {words(error)}") from None
        if not moved:
            raise HeadMoved(batch.session_id)
        self._feed.grown(batch.session_id)

    # -- reading ---------------------------------------------------------------------------------

    async def entries(
        self, session_id: str, after: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> list[Sealed]:
        if max_bytes is None:
            rows = await self._all(_ROWS, session_id, after, limit)
        else:
            rows = await self._all(
                _CHUNK, session_id, after, self.CHUNK if limit is None else limit, max_bytes
            )
        return [Sealed(seq, event_id, record.encode(), hash_) for seq, event_id, record, hash_ in rows]

    async def replay(
        self, session_id: str, after: int, upto: int, take: Callable[[list[bytes]], None]
    ) -> None:
        while after < upto:
            chunk = await self.entries(session_id, after, min(self.CHUNK, upto - after), CHUNK_BYTES)
            if not (records := [one.record for one in chunk if one.seq <= upto]):
                return
            await asyncio.to_thread(take, records)
            after = chunk[-1].seq

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


def _place(url: str) -> str:
    """The address without what may be secret: user, password, options."""
    return "postgresql://" + url.partition("://")[2].partition("?")[0].rpartition("@")[2]
