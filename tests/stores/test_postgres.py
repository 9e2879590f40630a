"""What only the PostgreSQL store promises: many processes, restarts, byte order, an append-only database."""

import asyncio
from collections.abc import Awaitable

import asyncpg
import pytest

from beliefd.ledger.envelope import head_of
from beliefd.stores.base import Append, HeadMoved, StorageUnavailable
from beliefd.stores.postgres import PostgresStore
from beliefd.stores.postgres.feed import MAX_PAYLOAD, payload, session_ids
from beliefd.stores.postgres.schema import MIGRATIONS
from beliefd.testing.appends import batch, chain, eventually
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.anyio

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
LISTENING = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND state = 'idle' AND query ILIKE 'LISTEN%'"
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def ledger(postgres_url: str) -> str:
    """A database with one session of three events."""
    store = await PostgresStore.open(postgres_url)
    await store.append(batch("s", None, chain("s", 3)))
    await store.close()
    return postgres_url


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_events SET record = '{}' WHERE seq = 2",
        "UPDATE audit_events SET seq = seq + 1",
        "DELETE FROM audit_events WHERE seq = 3",
        "TRUNCATE audit_events",
        "INSERT INTO audit_events VALUES ('s', 2, 'forged', '{}', 'h')"
        " ON CONFLICT (session_id, seq) DO UPDATE SET record = excluded.record",
        "SET session_replication_role = replica; DELETE FROM audit_events",
        "DELETE FROM sessions WHERE session_id = 's'",
        "TRUNCATE sessions CASCADE",
        "SET session_replication_role = replica; DELETE FROM sessions",
    ],
)
async def test_the_database_itself_refuses_to_change_or_lose_events(ledger: str, statement: str) -> None:
    connection = await asyncpg.connect(ledger)
    with pytest.raises(asyncpg.RestrictViolationError, match="refuses"):
        await connection.execute(statement)
    await connection.close()
    store = await PostgresStore.open(ledger)
    assert await store.entries("s") == chain("s", 3)
    assert len(await store.sessions(None, 10)) == 1
    await store.close()


async def test_the_schema_version_is_recorded(ledger: str) -> None:
    assert await _value(ledger, "SELECT array_agg(version) FROM beliefd_schema") == [
        number + 1 for number in range(len(MIGRATIONS))
    ]


async def test_a_database_from_the_future_is_refused(ledger: str) -> None:
    await _value(ledger, f"INSERT INTO beliefd_schema VALUES ({len(MIGRATIONS) + 1})")
    with pytest.raises(StorageUnavailable, match="use a newer beliefd"):
        await PostgresStore.open(ledger)


async def test_openers_of_an_empty_database_wait_for_each_other(postgres_url: str) -> None:
    stores = await asyncio.gather(*(PostgresStore.open(postgres_url) for _ in range(6)))
    await stores[0].append(batch("s", None, chain("s", 1)))
    assert [len(await store.sessions(None, 9)) for store in stores] == [1] * 6
    await asyncio.gather(*(store.close() for store in stores))


async def test_a_role_that_may_only_read_and_append_can_use_the_store(
    ledger: str, postgres_server: PostgresServer
) -> None:
    role = f"clerk_{ledger[-12:]}"
    for statement in (
        f"CREATE ROLE {role} LOGIN",
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO {role}",
        f"GRANT UPDATE ON sessions, snapshots, tokens, inbox TO {role}",
    ):
        await _value(ledger, statement)
    store = await PostgresStore.open(ledger.replace("//beliefd@", f"//{role}@"))
    await store.append(batch("s", head_of(chain("s", 3)[-1]), chain("s", 4)[3:]))
    assert len(await store.entries("s")) == 4
    await store.close()
    await _value(ledger, f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_ids_are_ordered_by_their_bytes_whatever_the_locale_of_the_database(ledger: str) -> None:
    collations = await _value(
        ledger,
        "SELECT array_agg(DISTINCT collname::text)"
        " FROM pg_attribute JOIN pg_collation c ON c.oid = attcollation"
        " WHERE attrelid IN ('sessions'::regclass, 'audit_events'::regclass) AND attname = 'session_id'",
    )
    assert collations == ["C"]


async def test_a_database_that_cannot_hold_every_text_is_refused(postgres_server: PostgresServer) -> None:
    postgres_server.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(StorageUnavailable, match="need UTF8"):
        await PostgresStore.open(postgres_server.url("latin"))
    postgres_server.drop_database(postgres_server.url("latin"))


async def test_a_failed_opening_names_the_place_and_no_secret(postgres_server: PostgresServer) -> None:
    url = f"postgresql://someone:hush@127.0.0.1:{postgres_server.port}/nowhere?passfile=hush"
    with pytest.raises(StorageUnavailable) as raised:
        await PostgresStore.open(url)
    assert f"127.0.0.1:{postgres_server.port}/nowhere" in str(raised.value)
    assert "hush" not in str(raised.value)


async def test_a_commit_is_on_disk_before_it_is_acknowledged(
    ledger: str, postgres_server: PostgresServer
) -> None:
    database = ledger.rsplit("/", 1)[1]
    postgres_server.execute(f'ALTER DATABASE "{database}" SET synchronous_commit = off')
    store = await PostgresStore.open(f"{ledger}?synchronous_commit=off")
    async with store._pool.acquire() as connection:
        assert await connection.fetchval("SHOW synchronous_commit") == "on"
        assert await connection.fetchval("SHOW fsync") == "on"
    await store.close()


async def test_the_store_outlives_restarts_of_its_server(
    ledger: str, postgres_server: PostgresServer
) -> None:
    store = await PostgresStore.open(ledger)
    await asyncio.gather(*(store.head("s") for _ in range(40)))  # several connections, all about to die
    for turn, interrupt in enumerate((postgres_server.stop, postgres_server.kill), 4):
        interrupt()
        await _unavailable(store.ping())
        await _unavailable(store.head("s"))
        await _unavailable(store.append(_next(turn)))
        postgres_server.start()
        assert await store.entries("s") == chain("s", turn - 1)
        await store.append(_next(turn))
        await store.ping()
    await store.close()


async def test_a_read_does_not_notice_that_its_connection_died(
    ledger: str, postgres_server: PostgresServer
) -> None:
    store = await PostgresStore.open(ledger)
    await asyncio.gather(*(store.head("s") for _ in range(40)))
    # Ended from outside while the event loop is busy: the store learns of it only when it asks.
    postgres_server.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        f" WHERE datname = '{ledger.rsplit('/', 1)[1]}'"
    )
    heads = await asyncio.gather(*(store.head("s") for _ in range(40)))
    assert set(heads) == {head_of(chain("s", 3)[-1])}
    await store.close()


async def test_an_append_that_loses_its_connection_says_that_the_outcome_is_unknown(
    ledger: str, postgres_server: PostgresServer
) -> None:
    store = await PostgresStore.open(ledger)
    blocker = await asyncpg.connect(ledger)
    transaction = blocker.transaction()
    await transaction.start()
    await blocker.execute("SELECT 1 FROM sessions WHERE session_id = 's' FOR UPDATE")
    waiting = asyncio.ensure_future(store.append(_next(4)))
    await _until(ledger, WAITING, 1)
    await asyncio.to_thread(postgres_server.kill)
    with pytest.raises(StorageUnavailable, match="not known whether it was written"):
        await waiting
    postgres_server.start()
    assert await store.entries("s") == chain("s", 3)
    blocker.terminate()
    await store.close()


async def test_an_append_that_the_server_rejects_says_that_nothing_was_written(ledger: str) -> None:
    store = await PostgresStore.open(f"{ledger}?default_transaction_read_only=on")
    await _unavailable(store.append(_next(4)), "nothing was written: .*read-only")
    await _unavailable(store.ping(), "read-only")
    assert await store.entries("s") == chain("s", 3)
    await store.close()


async def test_the_second_of_two_appends_waits_for_the_first_and_writes_nothing(ledger: str) -> None:
    store = await PostgresStore.open(ledger)
    first = await asyncpg.connect(ledger)
    async with first.transaction():
        await first.execute("UPDATE sessions SET head_seq = 4, head_hash = 'other' WHERE session_id = 's'")
        second = asyncio.ensure_future(store.append(_next(4)))
        await _until(ledger, WAITING, 1)
    with pytest.raises(HeadMoved):
        await second
    assert await store.entries("s") == chain("s", 3)
    await first.close()
    await store.close()


# -- the change feed -------------------------------------------------------------------------------------


async def test_the_feed_comes_back_after_a_restart_and_tells_to_look(
    ledger: str, postgres_server: PostgresServer
) -> None:
    here, there = await PostgresStore.open(ledger), await PostgresStore.open(ledger)
    heard: list[str] = []
    here.subscribe(heard.append)
    await _until(ledger, LISTENING, 2)
    heard.clear()
    postgres_server.restart()
    await eventually(lambda: "" in heard)
    await there.append(_next(4))
    await eventually(lambda: "s" in heard)
    await here.close()
    await there.close()


async def test_a_notice_that_could_not_be_sent_is_sent_later(
    ledger: str, postgres_server: PostgresServer
) -> None:
    store = await PostgresStore.open(ledger)
    await _until(ledger, LISTENING, 1)
    postgres_server.stop()
    store._feed.grown("s")
    postgres_server.start()
    listener = await asyncpg.connect(ledger)
    heard: list[str] = []
    await listener.add_listener("beliefd_grown", lambda *notice: heard.extend(session_ids(notice[3])))
    await eventually(lambda: "s" in heard)
    await listener.close()
    await store.close()


async def test_a_process_that_appends_and_leaves_is_heard_of(ledger: str) -> None:
    here = await PostgresStore.open(ledger)
    heard: list[str] = []
    here.subscribe(heard.append)
    await _until(ledger, LISTENING, 1)
    guest = await PostgresStore.open(ledger)
    await guest.append(_next(4))
    await guest.close()
    await eventually(lambda: "s" in heard)
    await here.close()


def test_a_payload_that_postgresql_would_refuse_becomes_anything() -> None:
    assert session_ids(payload({"b", "a", "naïve\x00"})) == ["a", "b", "naïve\x00"]
    assert len(payload({f"{n:036}" for n in range(190)})) <= MAX_PAYLOAD
    assert payload({f"{n:036}" for n in range(300)}) == ""
    assert session_ids("") == [""]
    assert session_ids("7") == [""]


async def test_appends_of_hundreds_of_sessions_reach_other_processes(ledger: str) -> None:
    here, there = await PostgresStore.open(ledger), await PostgresStore.open(ledger)
    heard: set[str] = set()
    here.subscribe(heard.add)
    await _until(ledger, LISTENING, 2)
    heard.clear()
    names = [f"{n:036}" for n in range(400)]
    await asyncio.gather(*(there.append(batch(name, None, chain(name, 1))) for name in names))
    await eventually(lambda: "" in heard or heard >= set(names))
    await here.close()
    await there.close()


# -- helpers ---------------------------------------------------------------------------------------------


def _next(seq: int) -> Append:
    """The append of event `seq` to the session of `ledger`."""
    whole = chain("s", seq)
    return batch("s", head_of(whole[-2]), whole[-1:])


async def _unavailable(work: Awaitable[object], match: str = ".") -> None:
    with pytest.raises(StorageUnavailable, match=match):
        await work


async def _value(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        if ";" in statement:
            return await connection.execute(statement)
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def _until(url: str, question: str, answer: int) -> None:
    watcher = await asyncpg.connect(url)
    async with asyncio.timeout(30):
        while await watcher.fetchval(question) < answer:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)
    await watcher.close()
