"""What group commit on PostgreSQL promises: one statement for many sessions, and to each its own outcome."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from beliefd.ledger.envelope import Sealed, head_of
from beliefd.stores.base import Append, HeadMoved, SavedState, StorageUnavailable, UsedKey
from beliefd.stores.postgres import PostgresStore
from beliefd.stores.postgres.group import ENOUGH, GROUP, PLAIN_GROUP
from beliefd.testing.appends import batch, chain, entry, outcomes_of

pytestmark = pytest.mark.anyio

NAMES = [f"s{number:02}" for number in range(ENOUGH)]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """With a session of one event under each name."""
    store = await PostgresStore.open(postgres_url)
    await asyncio.gather(*(store.append(batch(name, None, chain(name, 1))) for name in NAMES))
    yield store
    await store.close()


@pytest.fixture
def statements(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is sent to be written from now on."""
    sent: list[str] = []
    write = store._write

    async def noted(statement: str, *values: object) -> Any:
        sent.append(statement)
        return await write(statement, *values)

    monkeypatch.setattr(store, "_write", noted)
    return sent


async def test_appends_that_wait_for_many_sessions_are_one_statement(
    store: PostgresStore, statements: list[str]
) -> None:
    used = {name: UsedKey("agent://a", name, "request", name, 2) for name in NAMES[:3]}
    more: dict[str, dict[str, Any]] = {
        name: {"used_keys": [key], "saved_state": SavedState(2, b"state")} for name, key in used.items()
    }
    assert (
        await _outcomes(store, [following(name, **more.get(name, {})) for name in NAMES]) == [None] * ENOUGH
    )
    assert statements == [GROUP]
    for name in NAMES:
        assert await store.entries(name) == chain(name, 2)
        assert await store.head(name) == head_of(chain(name, 2)[-1])
    for name, key in used.items():
        assert await store.used_key("agent://a", name) == key
        assert await store.saved_state(name) == SavedState(2, b"state")


async def test_an_append_that_waits_for_its_group_takes_no_task(store: PostgresStore) -> None:
    tasks = asyncio.all_tasks()
    waiting = [store.append(following(name)) for name in NAMES]
    assert all(asyncio.isfuture(one) for one in waiting)
    assert asyncio.all_tasks() == tasks
    await asyncio.gather(*waiting)


async def test_a_head_that_moved_is_lost_for_its_append_and_for_no_other(
    store: PostgresStore, statements: list[str]
) -> None:
    late = batch("s03", head_of(entry("s03", 1, "elsewhere")), [entry("s03", 2)])
    lost = [late, batch("unknown", head_of(entry("unknown", 1)), [entry("unknown", 2)])]
    outcomes = await _outcomes(store, [following("s00"), *lost, following("s01")])
    assert [type(outcome) for outcome in outcomes] == [type(None), HeadMoved, HeadMoved, type(None)]
    assert statements == [PLAIN_GROUP], "no key is used, and no state is saved"
    assert await store.entries("s03") == chain("s03", 1)
    assert await store.entries("unknown") == []


async def test_a_key_that_is_taken_is_lost_for_its_append_and_for_no_other(
    store: PostgresStore, statements: list[str]
) -> None:
    def keyed(name: str) -> Append:
        return following(name, used_keys=[UsedKey("agent://a", "key", "request", name, 2)])

    await store.append(keyed("s00"))
    outcomes = await _outcomes(store, [following("s01"), keyed("s02"), following("s03")])
    assert [type(outcome) for outcome in outcomes] == [type(None), HeadMoved, type(None)]
    assert statements[1] == GROUP
    assert len(statements) == 5, "after the group, each by itself"
    assert await store.entries("s02") == chain("s02", 1)
    assert await store.entries("s03") == chain("s03", 2)


async def test_what_postgresql_cannot_hold_fails_its_append_and_no_other(store: PostgresStore) -> None:
    bad = batch("s01", head_of(entry("s01", 1)), [Sealed(2, "s01-2", b'"\x00"', "hash")])
    outcomes = await _outcomes(store, [following("s00"), bad, following("s02")])
    assert [type(one) is type(None) for one in outcomes] == [True, False, True]
    assert isinstance(outcomes[1], StorageUnavailable)
    assert str(outcomes[1]).startswith("nothing was written")


async def test_two_appends_for_one_session_are_never_in_one_group(
    store: PostgresStore, statements: list[str]
) -> None:
    first, second = following("s00"), following("s00", text="second")
    outcomes = await _outcomes(store, [first, second, following("s01")])
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["HeadMoved", "NoneType", "NoneType"]
    assert outcomes[2] is None
    assert len(statements) == 2
    [won] = (one for one, outcome in zip((first, second), outcomes, strict=False) if outcome is None)
    assert await store.entries("s00") == [entry("s00", 1), *won.entries]


async def test_of_a_group_whose_connection_is_lost_nobody_knows_whether_it_was_written(
    store: PostgresStore, postgres_url: str
) -> None:
    holder = await asyncpg.connect(postgres_url)
    transaction = holder.transaction()
    await transaction.start()
    await holder.execute("SELECT 1 FROM sessions WHERE session_id = 's01' FOR UPDATE")
    appending = asyncio.ensure_future(_outcomes(store, [following(name) for name in NAMES[:3]]))
    await holder.execute("SELECT pg_terminate_backend($1)", await _waits(holder))
    outcomes = await appending
    assert {str(one).partition(":")[0] for one in outcomes} == {"it is not known whether it was written"}
    await transaction.rollback()
    await holder.close()
    assert await _outcomes(store, [following(name) for name in NAMES[:3]]) == [None] * 3


async def test_what_was_not_sent_when_the_store_closes_is_said_not_to_be_written(
    store: PostgresStore,
) -> None:
    appending = asyncio.ensure_future(_outcomes(store, [following(name) for name in NAMES[:3]]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await store.close()
    outcomes = await appending
    assert {str(one) for one in outcomes} <= {
        "nothing was written: the store is closed",
        "the store is closed",
    }


async def test_a_group_takes_its_heads_in_the_order_of_their_sessions(
    store: PostgresStore, postgres_url: str
) -> None:
    """With any other order, groups of two processes would wait for each other in a circle."""
    holder, watcher = await asyncpg.connect(postgres_url), await asyncpg.connect(postgres_url)
    transaction = holder.transaction()
    await transaction.start()
    await holder.execute("SELECT 1 FROM sessions WHERE session_id = 's05' FOR UPDATE")
    appending = asyncio.ensure_future(_outcomes(store, [following(name) for name in reversed(NAMES)]))
    await _waits(watcher)
    free = await watcher.fetch("SELECT session_id FROM sessions ORDER BY session_id FOR UPDATE SKIP LOCKED")
    assert [session_id for (session_id,) in free] == NAMES[6:]
    await transaction.rollback()
    assert await appending == [None] * ENOUGH
    await holder.close()
    await watcher.close()


async def _waits(watcher: Any) -> int:
    """The process of the server that waits for a lock in this database."""
    async with asyncio.timeout(60):
        while not (  # noqa: ASYNC110 - the server has no event for it
            found := await watcher.fetchval(
                "SELECT pid FROM pg_stat_activity"
                " WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
        ):
            await asyncio.sleep(0.01)
    return int(found)


def following(name: str, text: str = "", **more: Any) -> Append:
    """The second event of a session."""
    return batch(name, head_of(entry(name, 1)), [entry(name, 2, text)], **more)


async def _outcomes(store: PostgresStore, batches: list[Append]) -> list[BaseException | None]:
    return await outcomes_of(store.append(one) for one in batches)
