"""Behind PgBouncer in transaction mode, a store keeps the same promises; what cannot work is refused."""

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from beliefd.ledger.envelope import head_of
from beliefd.stores.base import SpaceRow, StorageUnavailable, Store
from beliefd.stores.postgres import PostgresStore
from beliefd.testing.appends import batch, chain, eventually_hears
from beliefd.testing.projection_contract import ProjectionContract
from beliefd.testing.store_contract import DurableStoreContract
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import PostgresServer, free_port


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def pooler(postgres_server: PostgresServer) -> Iterator[PgBouncer]:
    with PgBouncer(postgres_server) as pooler:
        yield pooler


class TestPooled(ProjectionContract, DurableStoreContract):
    pooled: str
    direct: str

    @pytest.fixture(autouse=True)
    def place(self, postgres_url: str, pooler: PgBouncer) -> None:
        self.direct, self.pooled = postgres_url, pooler.url(postgres_url)

    async def open(self) -> Store:
        return await PostgresStore.open(self.pooled, self.direct)


WATCH = """
    CREATE TABLE seen (synchronous_commit TEXT);
    CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER watch AFTER INSERT ON audit_events
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see();
    CREATE CONSTRAINT TRIGGER watch AFTER INSERT ON spaces
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see();
"""
"""What is set when a transaction commits: that is what counts."""


@pytest.mark.anyio
async def test_every_commit_waits_for_the_disk_whatever_others_have_set(
    postgres_url: str, pooler: PgBouncer
) -> None:
    store = await PostgresStore.open(pooler.url(postgres_url), postgres_url)
    direct = await asyncpg.connect(postgres_url)
    database = postgres_url.rsplit("/", 1)[1]
    try:
        await direct.execute(WATCH)
        await direct.execute(f'ALTER DATABASE "{database}" SET synchronous_commit = off')
        # A client of the same pooler leaves a setting on all connections that there are.
        careless = [await asyncpg.connect(pooler.url(postgres_url), statement_cache_size=0) for _ in range(3)]
        for one in careless:
            await one.execute("BEGIN; SET synchronous_commit = off")
        for one in careless:
            await one.execute("COMMIT")
            await one.close()

        begun = {f"session-{number}": chain(f"session-{number}", 2) for number in range(40)}
        for name, (one, _) in begun.items():  # alone
            await store.append(batch(name, None, [one]))
        grown = (store.append(batch(name, head_of(one), [two])) for name, (one, two) in begun.items())
        await asyncio.gather(*grown)  # in groups
        await store.add_space(SpaceRow("here", "2026-01-01", "me"))
        rows = await direct.fetch("SELECT synchronous_commit, count(*) FROM seen GROUP BY 1")
        assert [tuple(row) for row in rows] == [("on", 81)]
    finally:
        await direct.close()
        await store.close()


@pytest.mark.anyio
async def test_a_pooler_is_noticed_even_if_it_passes_over_what_it_cannot_do(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    """With `ignore_startup_parameters`, a setting that keeps events safe would be lost without a word."""
    with (
        PgBouncer(postgres_server, ignore_startup_parameters="synchronous_commit") as pooler,
        pytest.raises(StorageUnavailable, match=r"leads to a pooler.*--feed-store"),
    ):
        await PostgresStore.open(pooler.url(postgres_url), must_hear=True)


@pytest.mark.anyio
async def test_an_address_of_the_feed_that_is_of_no_use_is_refused(
    postgres_url: str, postgres_server: PostgresServer, pooler: PgBouncer
) -> None:
    pooled = pooler.url(postgres_url)
    with pytest.raises(StorageUnavailable, match="feed leads to a pooler"):
        await PostgresStore.open(pooled, pooled)
    with pytest.raises(StorageUnavailable, match="another database"):
        await PostgresStore.open(pooled, postgres_server.url())
    with pytest.raises(StorageUnavailable, match="for the feed: the database cannot be reached"):
        await PostgresStore.open(pooled, f"postgresql://beliefd@127.0.0.1:{free_port()}/x")
    with pytest.raises(StorageUnavailable, match="a pooler cannot be copied from"):
        await PostgresStore.open_source(pooled)


@pytest.mark.anyio
async def test_a_command_behind_a_pooler_tells_servers_what_it_appended(
    postgres_url: str, pooler: PgBouncer
) -> None:
    server = await PostgresStore.open(postgres_url)
    command = await PostgresStore.open(pooler.url(postgres_url))
    heard: list[str] = []
    server.subscribe(heard.append)
    try:
        await eventually_hears(heard, command)
    finally:
        await command.close()
        await server.close()
