"""`beliefd proposition` and `beliefd knowledge rebuild` on a store that holds two stories."""

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from beliefd.stores.sqlite import SqliteStore
from tests.cli.runner import beliefd
from tests.knowledge.story import Story, refuted, supported


@pytest.fixture
def data(tmp_path: Path) -> str:
    async def run() -> None:
        store = await SqliteStore.open(tmp_path / "beliefd.db")
        dressed = Story("c", 3)
        dressed.propose("d[red]", "[bold]trust me[/bold] \x1b[2J\u202e")
        for story in (supported("a", 1), refuted("b", 2), dressed):
            await story.write(store)
        await store.close()

    asyncio.run(run())
    return str(tmp_path)


def test_the_list_shows_statuses_and_nothing_that_agents_dressed_up(data: str) -> None:
    shown = beliefd("proposition", "list", "--data", data)
    assert shown.exit_code == 0
    first, second = shown.stdout.splitlines()
    assert first.split()[:2] == ["unresolved", "c"]
    assert "2 sessions" in first
    assert "[bold]trust me[/bold] \\x1b[2J\\u{202e}" in second


def test_the_list_by_status_and_cursor(data: str) -> None:
    answer = json.loads(beliefd("proposition", "list", "--data", data, "--limit", "1", "--json").stdout)
    assert [row["claim_id"] for row in answer["propositions"]] == ["c"]
    assert answer["next"] == "c"
    shown = beliefd("proposition", "list", "--data", data, "--status", "proven")
    assert shown.stdout == "no propositions\n"


def test_show_draws_the_grounds_as_a_tree(data: str) -> None:
    shown = beliefd("proposition", "show", "c", "--data", data)
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0] == "unresolved  the pool leaks connections"
    assert "linked evidence warrants unresolved" in lines[1]
    text = shown.stdout
    assert "session a  supported" in text
    assert "session b  refuted" in text
    assert "support  validation-evidence" in text
    assert "refute  negative-evidence" in text
    assert "under: threshold on three readings" in text
    assert "staged > awaiting_approval > approved > executed" in text
    assert "2 speculative hypotheses, of no weight" in text


def test_why_names_the_event_of_every_step(data: str) -> None:
    shown = beliefd("proposition", "why", "c", "--data", data)
    answer = json.loads(beliefd("proposition", "why", "c", "--data", data, "--json").stdout)
    assert shown.stdout.count("  event ") == len(answer["steps"]) == 16
    assert all(step["event_id"] in shown.stdout for step in answer["steps"])
    assert shown.stdout.splitlines()[-1] == "so it is unresolved"


def test_a_claim_that_nobody_holds_is_bad_input(data: str) -> None:
    shown = beliefd("proposition", "show", "nowhere", "--data", data)
    assert shown.exit_code == 2
    assert "PROPOSITION_NOT_FOUND" in shown.stderr


def test_rebuild_says_how_many_graphs_were_otherwise(data: str) -> None:
    with sqlite3.connect(Path(data) / "beliefd.db") as connection:
        connection.execute("UPDATE graph_nodes SET status = 'proven' WHERE session_id = 'a'")
    first = beliefd("knowledge", "rebuild", "--data", data)
    assert first.stdout == "3 ledgers folded, the graph of 1 was replaced\n"
    second = beliefd("knowledge", "rebuild", "--data", data, "--json")
    assert json.loads(second.stdout) == {"sessions": 3, "changed": 0}


def test_rebuild_stops_at_a_ledger_that_does_not_hold(data: str) -> None:
    with sqlite3.connect(Path(data) / "beliefd.db") as connection:
        connection.execute("DROP TRIGGER audit_events_keep_update")
        connection.execute("UPDATE audit_events SET hash = 'x' WHERE session_id = 'a' AND seq = 3")
    assert beliefd("knowledge", "rebuild", "--data", data).exit_code == 5


def test_rebuild_makes_no_store_where_there_is_none(tmp_path: Path) -> None:
    assert beliefd("knowledge", "rebuild", "--data", str(tmp_path)).exit_code == 1
    assert list(tmp_path.iterdir()) == []
