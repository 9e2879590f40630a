"""What the databases themselves do for the graph, and what it costs those who do not use it."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from beliefd.knowledge import schema as say
from beliefd.stores.postgres.append import append_statement
from beliefd.stores.sqlite import SqliteStore
from beliefd.stores.sqlite.group import GroupCommit
from beliefd.stores.sqlite.schema import MIGRATIONS, _statements, migrate
from beliefd.testing.appends import batch, chain
from beliefd.testing.graph_contract import graph_of

LINK = (
    "INSERT INTO graph_links (relation, session_id, first_role, first_kind, first_id, second_role,"
    " second_kind, second_id) VALUES (?, 's', ?, ?, ?, 'proposition', 'proposition', 'c')"
)


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    async def run() -> None:
        store = await SqliteStore.open(tmp_path / "ledger.db")
        await store.append(batch("s", None, chain("s", 1), projected={"graph": tuple(graph_of("s"))}))
        await store.close()

    asyncio.run(run())
    opened = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    opened.execute("PRAGMA foreign_keys = ON")
    return opened


def test_sqlite_itself_refuses_a_hypothesis_in_the_role_of_evidence(connection: sqlite3.Connection) -> None:
    forged = (say.EVIDENCE_FOR_PROPOSITION, "evidence", say.SPECULATIVE_HYPOTHESIS, "shyp")
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        connection.execute(LINK, forged)
    borrowed = (say.EVIDENCE_FOR_PROPOSITION, "hypothesis", say.SPECULATIVE_HYPOTHESIS, "shyp")
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        connection.execute(LINK, borrowed)


def test_a_file_from_before_the_graph_gets_its_tables_and_roles(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
    before = next(at for at, script in enumerate(MIGRATIONS) if "graph_plays" in script)
    for script in MIGRATIONS[:before]:
        for statement in _statements(script):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {before}")
    migrate(connection)
    found = connection.execute("SELECT relation, role, kind FROM graph_plays").fetchall()
    assert set(found) == say.PLAYS


def test_a_role_that_is_new_in_the_vocabulary_is_taught_on_opening(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM graph_plays WHERE relation = 'intent-supersedes'")
    migrate(connection)
    found = connection.execute("SELECT relation, role, kind FROM graph_plays").fetchall()
    assert set(found) == say.PLAYS


def test_an_append_without_rows_of_the_graph_sends_no_statement_about_it(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    connection.text_factory = bytes
    migrate(connection)
    writer = GroupCommit(connection)
    sent: list[str] = []
    connection.set_trace_callback(sent.append)
    assert writer.commit([batch("s", None, chain("s", 3))]) == [None]
    bare = list(sent)
    sent.clear()
    assert writer.commit([batch("t", None, chain("t", 3), projected={"graph": tuple(graph_of("t"))})]) == [
        None
    ]
    assert not any("graph" in statement for statement in bare)
    assert any("graph_links" in statement for statement in sent)
    assert "graph" not in append_statement(batch("s", None, chain("s", 3)))[0]
    assert (
        "graph_links"
        in append_statement(batch("s", None, chain("s", 3), projected={"graph": tuple(graph_of("s"))}))[0]
    )


def test_no_question_reads_more_of_the_graph_than_it_answers(tmp_path: Path) -> None:
    """Every lookup goes by an index, however many sessions there are."""

    async def run() -> list[str]:
        store = await SqliteStore.open(tmp_path / "ledger.db")
        asked: list[str] = []
        store._reader.set_trace_callback(asked.append)
        await store.node_ids(say.PROPOSITION, (), "a", 10)
        await store.node_ids(say.PROPOSITION, ("supported", "refuted"), "a", 10)
        await store.nodes(say.PROPOSITION, ["a", "b"], 10)
        await store.links(say.EVIDENCE_FOR_PROPOSITION, "a")
        await store.projected("graph", "s")
        store._reader.set_trace_callback(None)
        plans = [row[3] for one in asked for row in store._reader.execute(f"EXPLAIN QUERY PLAN {one}")]
        await store.close()
        return plans

    plans = asyncio.run(run())
    assert sum("SEARCH graph_" in plan for plan in plans) == 7
    assert not any("SCAN graph_" in plan or "TEMP B-TREE" in plan for plan in plans)
