"""The shared store: PostgreSQL through asyncpg, for any number of server processes on the same ledgers.

Each method is one statement and one round trip; how an append is one, too, is in append.py.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

import asyncpg
from msgspec.structs import astuple

from beliefd.knowledge.graph import LinkRefused
from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import CHUNK_BYTES, Append, HeadMoved, Listener, StorageUnavailable, Taken, UsedKey
from beliefd.stores.listeners import Listeners
from beliefd.stores.postgres.append import append_statement
from beliefd.stores.postgres.database import (
    COMMAND_SECONDS,
    DRIVER_SECONDS,
    DURABLY,
    FAILURES,
    TAKEN,
    PostgresDatabase,
    Undone,
    words,
)
from beliefd.stores.postgres.feed import Feed
from beliefd.stores.postgres.group import Groups, fits
from beliefd.stores.postgres.hosts import Hosts, Pulse
from beliefd.stores.postgres.pooler import UNPREPARED, check_feed, is_pooled
from beliefd.stores.postgres.projections import PostgresProjections
from beliefd.stores.postgres.schema import migrate, migrate_own, need_newest
from beliefd.stores.sql.archives import Archives
from beliefd.stores.sql.content import Content
from beliefd.stores.sql.database import Steps
from beliefd.stores.sql.graph import Graph
from beliefd.stores.sql.inbox import Inbox
from beliefd.stores.sql.ledgers import Ledgers
from beliefd.stores.sql.log import Log
from beliefd.stores.sql.settings import Settings

CONNECTIONS: Final = 16
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


# In the order of their names, so that two servers wait for each other in one direction only.
_SPEND: Final = f"""
WITH taken AS (
    SELECT * FROM unnest($1::text[], $2::float8[], $3::float8[], $4::float8[])
        AS taken (name, count, rate, full_at) ORDER BY name
), left_over AS (
    INSERT INTO buckets AS kept (name, level, at)
    SELECT taken.name, taken.full_at - taken.count, {PostgresDatabase.CLOCK} FROM taken
    ON CONFLICT (name) DO UPDATE SET at = excluded.at, level = (
        SELECT least(full_at, kept.level + greatest(0, excluded.at - kept.at) * rate) - count
        FROM taken WHERE taken.name = excluded.name
    )
    RETURNING kept.name, kept.level
)
SELECT json_agg(json_build_array(name, level))::text FROM left_over
"""  # noqa: S608 - made of constants


def _room() -> Steps[None]:
    """Take a page for a table where those of the store are, and give it back. What a probe commits takes room
    in the log only, which may be on another disk and in files that are there already."""
    yield ("CREATE TEMP TABLE beliefd_room (page TEXT) ON COMMIT DROP",)
    yield ("INSERT INTO beliefd_room VALUES ('taken')",)


class _Connection(asyncpg.Connection):  # type: ignore[misc]
    """Our statements leave nothing behind on a connection, so giving it back costs no round trip."""

    def get_reset_query(self) -> str:
        return ""


class PostgresStore(PostgresProjections, Archives, Ledgers, Graph, Inbox, Content, Settings, Log):
    """Open with `await PostgresStore.open(url)`."""

    CHUNK = 1_000
    HOLD_LOG = ("LOCK TABLE log_runs IN SHARE MODE",)
    LISTED_RUNS = (
        "SELECT (run ->> 0)::bigint, run ->> 1, (run ->> 2)::bigint, (run ->> 3)::bigint"
        " FROM json_array_elements($1::json) AS run"
    )
    keeps_order = False  # each append takes the next free connection

    def __init__(self, pool: Any, hosts: Hosts, *, pooled: bool = False, feed: Hosts | None = None) -> None:
        super().__init__(pool, pooled)
        self._listeners = Listeners()
        self._groups = Groups(self._append_together, self._append_alone)
        # A notice needs no fsync: whoever misses it looks again by himself.
        direct, through_pooler = _options("off"), _options(None)
        beside = partial(hosts.connect, **(through_pooler if pooled else direct))
        ears = beside if feed is None else partial(feed.connect, **direct)
        self.listens = feed is not None or not pooled
        """Does it hear of what other processes append? If not, whoever follows looks from time to time."""
        self._feed = Feed(ears, self._listeners, listens=self.listens)
        self._pulse = Pulse(hosts, beside) if hosts.are_several else None

    @classmethod
    async def open(cls, url: str, feed: str | None = None, *, must_hear: bool = False) -> "PostgresStore":
        """`feed` is the address of PostgreSQL itself, if `url` leads to a pooler; without it, that is refused
        to whoever must hear of what others append."""
        store = await cls._opened(url, migrate, feed=feed)
        if must_hear and not store.listens:
            await store.close()
            raise StorageUnavailable(
                f"`{_place(url)}` leads to a pooler, which loses what is listened for; give the address of"
                " PostgreSQL itself for the feed, with --feed-store or BELIEFD_FEED_STORE"
            )
        return store

    @classmethod
    async def open_source(cls, url: str) -> "PostgresStore":
        """To be read only: the database itself refuses every write."""
        return await cls._opened(url, need_newest, first="SET default_transaction_read_only = on")

    @classmethod
    async def open_target(cls, url: str) -> "PostgresStore":
        """Raise Foreign, before anything is made there, if it holds tables of somebody else."""
        return await cls._opened(url, migrate_own)

    @classmethod
    async def _opened(
        cls, url: str, prepared: Callable[[Any], Awaitable[None]], *, first: str = "", feed: str | None = None
    ) -> "PostgresStore":
        pool = None
        hosts = Hosts(url)
        beside = None if feed is None else Hosts(feed)
        pooled = False

        async def connect(*_: object, **given: Any) -> Any:
            made = await hosts.connect(**given, **_options(None if pooled else "on"))
            if first:
                await made.execute(first)
            return made

        try:
            pooled = await _looked_at(hosts, beside, feed)
            if pooled and first:
                raise StorageUnavailable(
                    "a pooler cannot be copied from; give the address of PostgreSQL itself"
                )
            # No connection is kept in reserve: one that dies is replaced when it is needed, not before.
            pool = await asyncpg.create_pool(
                url, min_size=0, max_size=CONNECTIONS, connection_class=_Connection, connect=connect
            )
            async with pool.acquire() as connection:
                await _check_encoding(connection)
                await prepared(connection)
        except BaseException as error:
            if pool is not None:
                pool.terminate()
            if isinstance(error, (*FAILURES, ValueError)):
                raise StorageUnavailable(f"cannot open `{_place(url)}`: {words(error)}") from None
            raise
        return cls(pool, hosts, pooled=pooled, feed=beside)

    # -- writing ---------------------------------------------------------------------------------

    def append(self, batch: Append) -> Awaitable[None]:
        # No coroutine: that would be a task for each append that waits for its group.
        return self._append_alone(batch) if self._closed or not fits(batch) else self._groups.append(batch)

    async def _append_together(self, statement: str, parameters: Sequence[object]) -> list[str]:
        try:
            moved: list[str] = await self._write(statement, *parameters) or []
        except TAKEN:
            raise Undone("a key is taken") from None
        for session_id in moved:
            self._feed.grown(session_id)
        return moved

    async def _append_alone(self, batch: Append) -> None:
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

    async def used_key(self, principal: str, key: str) -> UsedKey | None:
        """INVARIANT: what is told again is as safe as what is told first. A server that crashed and came back
        shows commits that were waiting for a standby, and never waits for it again."""
        found = await super().used_key(principal, key)
        if found is not None:
            await self._settle()
        return found

    async def _settle(self) -> None:
        """Commit something that nobody reads. The log has one order: if a standby has to confirm this, it
        confirms all before it. It can be called off at any time, so it is not written like an event."""
        await self._one(f"SELECT {DURABLY}, pg_logical_emit_message(true, 'beliefd', 'settled')::text")

    # -- limits ----------------------------------------------------------------------------------

    async def spend(self, taken: Sequence[Taken]) -> dict[str, float]:
        columns = zip(*(astuple(one) for one in taken), strict=True)
        told = await self._write(_SPEND, *(list(column) for column in columns))
        return dict(json.loads(told)) if told else {}

    # -- life ------------------------------------------------------------------------------------

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Listeners are called on the event loop that opened the store; `""` means: look for yourself."""
        return self._listeners.add(listener)

    async def sweep(self) -> bool:
        """Rows that were removed are still in their pages until these are cleaned, which the owner may do."""
        try:
            async with self._pool.acquire(timeout=COMMAND_SECONDS) as connection:
                await connection.execute("VACUUM content")  # which no transaction may hold, nor needs
        except FAILURES:
            return False
        return True

    async def ping(self) -> None:
        """Commit something, as a write does: that takes room for the log, a flush, and the word of a standby
        that has to confirm."""
        row = await self._one("SELECT current_setting('transaction_read_only')")
        if row is None or row[0] != "off":
            raise StorageUnavailable("the database is read-only")
        await self._settle()
        if self.is_full:
            await self._together(_room())
            self.is_full = False

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._groups.close()
        self._listeners.clear()
        await self._feed.close()
        if self._pulse is not None:
            await self._pulse.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._pool.close()
        except FAILURES:
            self._pool.terminate()


def _options(synchronous_commit: str | None) -> dict[str, Any]:
    """None: through a pooler, which takes no such setting, and where no statement keeps its name."""
    options: dict[str, Any] = {"command_timeout": DRIVER_SECONDS}
    if synchronous_commit is None:
        return {**options, **UNPREPARED, "server_settings": {"application_name": "beliefd"}}
    settings = {"application_name": "beliefd", "synchronous_commit": synchronous_commit}
    return {**options, "server_settings": settings}


async def _looked_at(hosts: Hosts, feed: Hosts | None, feed_url: str | None) -> bool:
    """Is there a pooler between us and the database? Refuses an address for the feed that is of no use."""
    connection = await hosts.connect(**_options(None))
    try:
        if feed is not None:
            try:
                listening = await feed.connect(**_options(None))
            except FAILURES as error:
                place = _place(feed_url or "")
                raise StorageUnavailable(f"cannot open `{place}`, for the feed: {words(error)}") from None
            try:
                await check_feed(listening, connection)
            finally:
                listening.terminate()
        return await is_pooled(connection)
    finally:
        connection.terminate()


async def _check_encoding(connection: Any) -> None:
    encoding = await connection.fetchval("SHOW server_encoding")
    if encoding != "UTF8":
        raise StorageUnavailable(f"the database is encoded in {encoding}; records need UTF8")


def _place(url: str) -> str:
    """The address without what may be secret: user, password, options."""
    return "postgresql://" + url.partition("://")[2].partition("?")[0].rpartition("@")[2]
