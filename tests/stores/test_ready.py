"""Would PostgreSQL take a write? The probe is one: it is flushed, and refused where writes are."""

import asyncio

import pytest

from beliefd.stores.base import StorageUnavailable
from beliefd.stores.postgres import PostgresStore
from tests.support.postgres import PostgresServer

FLUSHED = "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') AS place"


def pinged(url: str) -> None:
    async def ping() -> None:
        store = await PostgresStore.open(url)
        try:
            await store.ping()
        finally:
            await store.close()

    asyncio.run(ping())


def test_a_probe_is_on_disk_when_it_returns(postgres_server: PostgresServer, postgres_url: str) -> None:
    """Each of many moves what is flushed: what the server itself writes now and then would not."""

    def flushed() -> int:
        [(place,)] = postgres_server.execute(FLUSHED)
        return int(place)

    async def moved() -> list[int]:
        store = await PostgresStore.open(postgres_url)
        await store.ping()
        places = [flushed()]
        for _ in range(5):
            await store.ping()
            places.append(flushed())
        await store.close()
        return places

    places = asyncio.run(moved())
    assert places == sorted(set(places))


def test_a_database_that_takes_no_writes_is_not_ready(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    pinged(postgres_url)
    name = postgres_url.rpartition("/")[2]
    postgres_server.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    with pytest.raises(StorageUnavailable, match="read-only"):
        pinged(postgres_url)
