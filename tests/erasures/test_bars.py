"""What was erased stays away from the whole server: other sessions, spaces, and who is just bringing it."""

import asyncio
import hashlib
from typing import Any

import asyncpg
import pytest

from beliefd.kernel.beliefs.commands import Eliminate
from beliefd.kernel.errors import Code
from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import Role
from beliefd.stores.content import UNLIMITED, ContentErased
from beliefd.stores.opening import open_store
from beliefd.stores.sql.content import _putting
from beliefd.testing.world import AGENT, World, refused

PAPER = b"the paper"
NAME = hashlib.sha256(PAPER).hexdigest()
ANA = Bringer(id="ana", role=Role.AGENT, at="2026-03-01T12:00:00.000000Z")


def cite(world: World, session: str) -> None:
    world.submit(
        session, Eliminate(source_id="s", observation_id=NAME, eliminated=("h2",), justification={}), AGENT
    )


def test_what_one_session_erased_comes_back_through_no_other_session_space_or_person(stored: World) -> None:
    first, second = stored.session(), stored.session()
    stored.agent.store_content(PAPER)
    cite(stored, first)
    cite(stored, second)
    stored.root.create_space("elsewhere")
    stored.root.erase(first, "asked for", digests=[NAME])
    refused(Code.CONTENT_ERASED, lambda: stored.agent.store_content(PAPER))
    refused(Code.CONTENT_ERASED, lambda: stored.root.store_content(PAPER, space="elsewhere"))
    refused(Code.CONTENT_ERASED, lambda: stored.agent.read_content(NAME))
    assert stored.run(lambda: stored.store.kept_content([NAME])) == set()


def test_content_that_is_erased_while_somebody_brings_it_is_not_kept(postgres_url: str) -> None:
    """Both at once, in either order: neither sees what the other has not committed."""

    async def story() -> None:
        store = await open_store(postgres_url)
        bringing, erasing = await asyncpg.connect(postgres_url), await asyncpg.connect(postgres_url)
        bar = "INSERT INTO erased (session_id, sha256, event_id) VALUES ('s', $1, 'e')"
        try:
            transaction = bringing.transaction()
            await transaction.start()
            await put(bringing)
            erasure = asyncio.ensure_future(erasing.execute(bar, NAME))
            await blocked_or_done(store, erasure)
            await transaction.commit()
            await erasure
            assert await store.kept_content([NAME]) == set()

            await erasing.execute("DELETE FROM erased")
            transaction = erasing.transaction()
            await transaction.start()
            await erasing.execute(bar, NAME)
            put_again = asyncio.ensure_future(put(bringing))
            await blocked_or_done(store, put_again)
            await transaction.commit()
            with pytest.raises(ContentErased):
                await put_again
            assert await store.kept_content([NAME]) == set()
        finally:
            await bringing.close()
            await erasing.close()
            await store.close()

    asyncio.run(story())


async def put(connection: Any) -> None:
    """What a store does, one step after the other."""
    steps = _putting(NAME, PAPER, ANA, UNLIMITED, "default")
    rows: Any = None
    while True:
        try:
            statement, *values = steps.send(rows)
        except StopIteration:
            return
        rows = await connection.fetch(statement, *values)


async def blocked_or_done(store: Any, task: "asyncio.Future[Any]") -> None:
    waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with asyncio.timeout(60):
        while not task.done() and not await store._all(waits):  # noqa: ASYNC110 - polled
            await asyncio.sleep(0.01)
