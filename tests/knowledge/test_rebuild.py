"""The read model can be dropped and built anew, and comes out the same byte for byte."""

import asyncio
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest

from beliefd.kernel.values import Head
from beliefd.ledger.envelope import LedgerBroken
from beliefd.steward.projections.graph import all_rows
from beliefd.steward.projections.rebuilding import all_sessions, rebuild
from beliefd.stores.base import Append, Store
from beliefd.stores.memory import MemoryStore
from beliefd.stores.projections import Row
from beliefd.stores.sqlite import SqliteStore
from tests.knowledge.story import Story, refuted, supported

TABLES = ("graph_plays", "graph_nodes", "graph_links", "inbox")


async def rebuild_all(store: Store) -> list[list[str]]:
    return [await rebuild(store, row.session_id) async for row in all_sessions(store)]


def dumped(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(path) as connection:
        return {table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall()) for table in TABLES}


def test_a_dropped_graph_is_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def run() -> None:
        store = await SqliteStore.open(path)
        stories = (supported("a", 1), refuted("b", 2), Story("c", 3))
        for story in stories:
            await story.write(store)
        before = dumped(path)
        assert len(before["graph_nodes"]) > 10
        assert await rebuild_all(store) == [[], [], []]
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM graph_links")
            connection.execute("DELETE FROM graph_nodes")
            connection.execute("DELETE FROM inbox")
        assert dumped(path) != before
        assert await rebuild_all(store) == [["inbox", "graph"], ["inbox", "graph"], []]
        assert dumped(path) == before
        await store.close()

    asyncio.run(run())


def test_a_forged_row_does_not_survive_a_rebuild(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def run() -> None:
        store = await SqliteStore.open(path)
        await supported("a").write(store)
        before = dumped(path)
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE graph_nodes SET status = 'proven' WHERE kind = 'proposition'")
            connection.execute(
                "INSERT INTO graph_nodes VALUES ('validation-evidence', 'a', 'forged', 'c', 'support', '{}')"
            )
        seen: list[int] = []
        assert await rebuild(store, "a", progress=seen.append) == ["graph"]
        assert sum(seen) == (await store.sessions(None, 1))[0].head.seq
        assert dumped(path) == before
        await store.close()

    asyncio.run(run())


class Growing(MemoryStore):
    """A store whose session grows between the fold and the replacement, once."""

    def __init__(self, story: Story) -> None:
        super().__init__()
        self._story = story
        self._grown = False

    async def replace_projection(
        self, session_id: str, expected: Head | None, name: str, rows: Iterable[Row]
    ) -> bool:
        if not self._grown:
            self._grown = True
            at = len(self._story.entries)
            self._story.propose("later")
            grown = {"graph": tuple(self._story.rows[-1])}
            await self.append(Append(session_id, expected, self._story.entries[at:], "", projected=grown))
        return await super().replace_projection(session_id, expected, name, rows)


def test_a_ledger_that_grows_during_the_rebuild_is_folded_to_its_new_head() -> None:
    async def run() -> None:
        story = supported("a")
        store = Growing(story)
        await story.write(store)
        await rebuild(store, "a")
        assert await store.projected("graph", "a") == set(all_rows(story.session))

    asyncio.run(run())


def test_nothing_is_built_from_a_ledger_that_does_not_hold() -> None:
    async def run() -> None:
        story = supported("a")
        story.entries[3:5] = [story.entries[4], story.entries[3]]
        store = MemoryStore()
        await story.write(store)
        with pytest.raises(LedgerBroken):
            await rebuild(store, "a")

    asyncio.run(run())


def test_a_ledger_whose_tail_was_cut_off_ends_the_rebuild(tmp_path: Path) -> None:
    async def run() -> None:
        store = await SqliteStore.open(tmp_path / "ledger.db")
        await supported("a").write(store)
        with sqlite3.connect(tmp_path / "ledger.db") as connection:
            connection.execute("DROP TRIGGER audit_events_keep_delete")
            connection.execute("DELETE FROM audit_events WHERE seq > 5")
        with pytest.raises(LedgerBroken, match="elsewhere than its last entry"):
            await rebuild(store, "a")
        await store.close()

    asyncio.run(run())
