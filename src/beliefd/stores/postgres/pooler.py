"""Poolers such as PgBouncer, which lend a connection of the database to a client by the transaction.

Nothing may be left on such a connection, and nothing that was left there is known: no setting, no prepared
statement, no LISTEN, no lock past the end of a transaction.
"""

from typing import Any, Final

from beliefd.stores.base import StorageUnavailable

UNPREPARED: Final[dict[str, Any]] = {"statement_cache_size": 0}
"""Statements without a name, which are sent again with every use: the next may go to another connection."""
_DATABASE: Final = """
    SELECT pg_postmaster_start_time()::text, oid::text FROM pg_database WHERE datname = current_database()
"""


async def is_pooled(connection: Any) -> bool:
    """A pooler tells its clients of a process that is none of the database's."""
    return bool(await connection.fetchval("SELECT pg_backend_pid()") != connection.get_server_pid())


async def check_feed(feed: Any, store: Any) -> None:
    """Refuse an address for the feed at which nothing would be heard."""
    if await is_pooled(feed):
        raise StorageUnavailable(
            "the address of the feed leads to a pooler, which loses what is listened for;"
            " give that of PostgreSQL itself"
        )
    if tuple(await feed.fetchrow(_DATABASE)) != tuple(await store.fetchrow(_DATABASE)):
        raise StorageUnavailable("the address of the feed leads to another database than that of the store")
