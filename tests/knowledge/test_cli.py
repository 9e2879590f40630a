"""`beliefd proposition` and `beliefd projection` on a store that holds two stories."""

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
    assert "all evidence warrants unresolved" in lines[1]
    text = shown.stdout
    assert "session a  supported" in text
    assert "session b  refuted" in text
    assert "support  witnessed  validation-evidence" in text
    assert "refute  witnessed  negative-evidence" in text
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


def test_a_changed_row_is_named_and_mended(data: str) -> None:
    with sqlite3.connect(Path(data) / "beliefd.db") as connection:
        connection.execute("UPDATE graph_nodes SET status = 'proven' WHERE session_id = 'a' AND kind = 'run'")
        (run,) = connection.execute("SELECT id FROM graph_nodes WHERE session_id = 'a' AND kind = 'run'")
    found = beliefd("projection", "check", "--data", data)
    assert found.exit_code == 5
    assert f"session a: `run {run[0]}` of the graph is changed" in found.stdout
    assert beliefd("projection", "check", "inbox", "--data", data).exit_code == 0
    assert beliefd("projection", "check", "--session", "b", "--data", data).exit_code == 0
    told = json.loads(beliefd("projection", "check", "graph", "--data", data, "--json").stdout)
    named = {"projection": "graph", "session_id": "a", "row": ["run", run[0]], "problem": "changed"}
    assert told == {"ok": False, "sessions": 3, "broken": {}, "differences": [named], "tokens": []}
    other = beliefd("projection", "rebuild", "--session", "b", "--data", data)
    assert other.stdout == "1 ledgers folded, replaced: the inbox of 0, the graph of 0, the erased of 0\n"
    first = beliefd("projection", "rebuild", "--data", data)
    assert first.stdout == "3 ledgers folded, replaced: the inbox of 0, the graph of 1, the erased of 0\n"
    second = beliefd("projection", "rebuild", "graph", "--data", data, "--json")
    assert json.loads(second.stdout) == {"sessions": 3, "broken": {}, "changed": {"graph": 0}}
    assert "all rows are as they say" in beliefd("projection", "check", "--data", data).stdout


def test_rows_that_belong_to_no_ledger_are_named_and_removed(data: str) -> None:
    with sqlite3.connect(Path(data) / "beliefd.db") as connection:
        connection.execute("INSERT INTO inbox VALUES ('x', 'nowhere', 'pending', '2026', NULL, 0, NULL)")
    found = beliefd("projection", "check", "--data", data)
    assert (found.exit_code, found.stdout.splitlines()[0]) == (
        5,
        "session nowhere: `x` of the inbox is extra",
    )
    assert "the inbox of 1" in beliefd("projection", "rebuild", "--data", data).stdout
    assert beliefd("projection", "check", "--data", data).exit_code == 0


def test_many_rows_are_counted_and_json_names_them_all(data: str) -> None:
    with sqlite3.connect(Path(data) / "beliefd.db") as connection:
        rows = sum(
            connection.execute(f"DELETE FROM {name}").rowcount for name in ("graph_links", "graph_nodes")
        )
    told = beliefd("projection", "check", "--data", data).stdout
    assert f"and {rows - 20} more" in told
    assert (
        len(json.loads(beliefd("projection", "check", "--data", data, "--json").stdout)["differences"])
        == rows
    )


def test_a_ledger_that_does_not_hold_is_named_and_the_others_are_mended(data: str) -> None:
    with sqlite3.connect(Path(data) / "beliefd.db") as connection:
        connection.execute("DROP TRIGGER audit_events_keep_update")
        connection.execute("UPDATE audit_events SET hash = 'x' WHERE session_id = 'a' AND seq = 3")
        connection.execute("UPDATE graph_nodes SET status = 'proven'")
    told = beliefd("projection", "rebuild", "--data", data)
    assert told.exit_code == 5
    assert "session a: nothing can be derived from its ledger: " in told.stderr
    assert "the graph of 2" in told.stdout
    answer = json.loads(beliefd("projection", "check", "--data", data, "--json").stdout)
    assert (answer["ok"], list(answer["broken"]), answer["differences"]) == (False, ["a"], [])


def test_what_there_is_not_is_bad_input_and_makes_no_store(data: str, tmp_path: Path) -> None:
    for command in ("check", "rebuild"):
        unknown = beliefd("projection", command, "outbox", "--data", data)
        assert (unknown.exit_code, "there are `inbox`, `graph`" in unknown.stderr) == (2, True)
        assert beliefd("projection", command, "--session", "nowhere", "--data", data).exit_code == 2
        assert beliefd("projection", command, "--data", tmp_path / "empty").exit_code == 1
    assert not (tmp_path / "empty").exists()


def test_the_projections_are_listed() -> None:
    assert [line.split()[0] for line in beliefd("projection", "list").stdout.splitlines()] == [
        "inbox",
        "graph",
        "erased",
    ]
    listed = json.loads(beliefd("projection", "list", "--json").stdout)["projections"]
    assert [one["name"] for one in listed] == ["inbox", "graph", "erased"]
