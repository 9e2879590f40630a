"""`beliefd store`: whole stores move, are backed up and come back, verified; what is not theirs stays."""

import asyncio
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

import beliefd as library
from beliefd.cli.marker import Marker
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.stores.base import StorageUnavailable
from beliefd.stores.moving import _side, shapes
from beliefd.stores.opening import open_source, open_store
from beliefd.stores.postgres.schema import ONLY_HERE
from beliefd.stores.sqlite.schema import MIGRATIONS
from beliefd.testing.world import ONTOLOGY_JSON, policy
from tests.claims.support import bundle, claim
from tests.cli.runner import CLEAN, beliefd

opened = partial(library.open, principal=LOCAL_OPERATOR)
Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture
def filled(kept: Path, tmp_path: Path) -> Path:
    return shutil.copytree(kept, tmp_path / "old")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with something in every table that a server writes to."""
    data = tmp_path_factory.mktemp("kept") / "old"
    data.mkdir(mode=0o700)
    for words in (
        ("space", "create", "research"),
        ("token", "create", "--name", "ana", "--role", "approver"),
        ("token", "create", "--name", "gone", "--role", "agent"),
    ):
        assert beliefd(*words, "--data", data).exit_code == 0
    with opened(str(data / "beliefd.db")) as calls:
        calls.adopt_policy(policy(uncertainty={"explain_above": 0.4, "defer_above": 0.7}))
        for number in range(3):
            session = calls.declare_session(["a", "b", "c", f"d{number}"], ONTOLOGY_JSON).session_id
            for at in range(5):
                calls.eliminate(
                    session,
                    source_id="s",
                    observation_id=f"o{at}",
                    eliminated=["abc"[at % 3]],
                    idempotency_key=f"{number}-{at}",
                )
        calls.submit_claims(session, bundle(claim("DELETE")))
        calls.stage_intent(
            session, {"type": "create_proposition", "claim_id": "w", "statement": "a wait takes long"}
        )
        calls.store_content(b"what was seen \x00\xff")
        probabilities = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]
        calls.store_calibration("set", model="m", probabilities=probabilities, labels=[0, 1, 0])
    return data


def rows_of(place: str | Path) -> Rows:
    """Every row of every table that the schema knows."""

    async def read() -> Rows:
        store = await open_store(str(place))
        try:
            return {shape.name: await _side(store).between(shape, None, None) for shape in shapes()}
        finally:
            await store.close()

    found = asyncio.run(read())
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def migrate(source: str | Path, target: str | Path) -> Any:
    result = beliefd("store", "migrate", source, target, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_everything_moves_to_postgresql_and_back_and_goes_on_there(
    filled: Path, postgres_url: str, tmp_path: Path
) -> None:
    before = rows_of(filled / "beliefd.db")
    empty = {name for name, rows in before.items() if not rows}
    assert not empty & {"audit_events", "sessions", "tokens", "spaces", "content", "policies", "adoptions"}
    assert not empty & {"idempotency", "inbox", "calibrations", "graph_plays", "content_brought"}
    moved = migrate(filled, postgres_url)
    assert moved["rows"] == sum(map(len, before.values()))
    assert rows_of(postgres_url) == before
    assert migrate(filled, postgres_url)["added"] == 0
    # What is written next to it there has its own place, also where the database counts.
    with opened(postgres_url) as calls:
        session = calls.list_sessions().sessions[0].session_id
        calls.eliminate(session, source_id="s", observation_id="there", eliminated=["c"])
        calls.adopt_policy(policy(uncertainty={"explain_above": 0.3, "defer_above": 0.7}))
        assert calls.verify(session).ok
    migrate(postgres_url, tmp_path / "back")
    assert rows_of(tmp_path / "back" / "beliefd.db") == rows_of(postgres_url)


KILLED = """
import os, sys
from beliefd.cli.main import main
from beliefd.stores import moving
pages = int(sys.argv.pop(1))
whole = moving._Side.apply
async def until_killed(self, *given):
    global pages
    await whole(self, *given)
    if any(given[1:]):
        pages -= 1
        if pages == 0:
            os.kill(os.getpid(), 9)
moving._Side.apply = until_killed
main(sys.argv[1:])
"""


def killed(source: Path, target: str | Path, pages: int) -> None:
    command = [sys.executable, "-c", KILLED, str(pages), "store", "migrate", str(source), str(target)]
    done = subprocess.run(command, env=CLEAN, capture_output=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_a_migration_that_is_killed_goes_on_and_nothing_is_there_twice(
    filled: Path, postgres_url: str, tmp_path: Path
) -> None:
    before = rows_of(filled / "beliefd.db")
    for target, pages in ((postgres_url, 1), (postgres_url, 2), (tmp_path / "file.db", 4)):
        killed(filled, target, pages)
        half = rows_of(target)
        assert half != before
        assert half["audit_events"] == before["audit_events"]
    for place in (postgres_url, tmp_path / "file.db"):
        migrate(filled, place)
        assert rows_of(place) == before


def test_what_happened_in_the_source_since_is_brought_and_what_is_no_more_goes(
    filled: Path, tmp_path: Path
) -> None:
    target = tmp_path / "new"
    migrate(filled, target)
    token = beliefd("token", "list", "--data", filled).output.splitlines()[2].split()[0]
    assert beliefd("token", "revoke", token, "--data", filled).exit_code == 0
    with sqlite3.connect(filled / "beliefd.db") as connection:
        connection.execute("DELETE FROM snapshots")
        connection.execute("DELETE FROM content_use")
    changed = migrate(filled, target)
    assert changed["added"] >= 1
    assert changed["changed"] >= 1
    assert changed["removed"] >= 1
    assert rows_of(target / "beliefd.db") == rows_of(filled / "beliefd.db")


def test_a_target_of_somebody_else_is_refused_and_left_as_it_was(filled: Path, tmp_path: Path) -> None:
    with opened(str(tmp_path / "other.db")) as calls:
        calls.declare_session(["x"], ONTOLOGY_JSON)
    with opened(str(tmp_path / "content.db")) as calls:
        calls.store_content(b"theirs")
    for place in ("other.db", "content.db"):
        theirs = rows_of(tmp_path / place)
        result = beliefd("store", "migrate", filled, tmp_path / place)
        assert result.exit_code == 4
        assert "the target is not empty, and not of this source" in result.output
        assert rows_of(tmp_path / place) == theirs


def test_a_ledger_that_does_not_hold_is_not_moved(filled: Path, tmp_path: Path) -> None:
    with sqlite3.connect(filled / "beliefd.db") as connection:
        connection.execute("DROP TRIGGER audit_events_keep_update")
        connection.execute("UPDATE audit_events SET record = replace(record, 'o1', 'o9') WHERE seq = 3")
    result = beliefd("store", "migrate", filled, tmp_path / "new")
    assert result.exit_code == 5
    assert "in the source, session" in result.output
    assert not rows_of(tmp_path / "new" / "beliefd.db")["audit_events"]


def test_a_backup_is_a_store_and_comes_back_as_it_was(
    filled: Path, postgres_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "copy.db"
    before = rows_of(filled / "beliefd.db")
    with opened(str(filled / "beliefd.db")):  # it is in use meanwhile
        assert beliefd("store", "backup", file, "--data", filled).exit_code == 0
    assert file.stat().st_mode & 0o077 == 0
    assert rows_of(file) == before
    assert beliefd("store", "backup", file, "--data", filled).exit_code == 4
    assert beliefd("store", "restore", file, "--store", postgres_url, "--data", tmp_path / "x").exit_code == 0
    assert rows_of(postgres_url) == before
    again = tmp_path / "again.db"
    assert beliefd("store", "backup", again, "--store", postgres_url).exit_code == 0
    assert rows_of(again) == before


def test_an_old_copy_that_is_restored_is_named_as_a_rollback(filled: Path, tmp_path: Path) -> None:
    file = tmp_path / "copy.db"
    assert beliefd("store", "backup", file, "--data", filled).exit_code == 0
    assert beliefd("token", "create", "--name", "later", "--role", "agent", "--data", filled).exit_code == 0

    async def keep_up() -> None:
        store = await open_store(str(filled / "beliefd.db"))
        await Marker(filled, str(filled / "beliefd.db")).keep_up(store)
        await store.close()

    asyncio.run(keep_up())
    newer = beliefd("store", "restore", file, "--data", filled)
    assert newer.exit_code == 4  # what is there holds more than the copy: it is not written over
    for name in ("beliefd.db", "beliefd.db-wal", "beliefd.db-shm"):
        (filled / name).unlink(missing_ok=True)
    result = beliefd("store", "restore", file, "--data", filled, "--json")
    assert result.exit_code == 3
    told = msgspec.json.decode(result.stdout)
    assert told["rollback"].startswith("this is a rollback: ")
    assert "--accept-new-store" in told["rollback"]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    for words in (("migrate", tmp_path / "no", tmp_path / "new"), ("restore", tmp_path / "no.db")):
        result = beliefd("store", *words)
        assert result.exit_code == 1
        assert "STORAGE_UNAVAILABLE" in result.output


def bytes_in(folder: Path) -> dict[str, bytes]:
    """Every file but the index of the log, which SQLite makes anew for whoever reads."""
    return {one.name: one.read_bytes() for one in folder.iterdir() if not one.name.endswith("-shm")}


def foreign_file(path: Path, version: int = 0) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
        connection.execute("INSERT INTO customers VALUES ('ana')")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
    return path


def test_what_is_no_store_is_not_made_one_by_reading_it(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "empty.db").touch()
    (folder / "notes.db").write_text("not a database " * 100)
    foreign_file(folder / "others.db")
    foreign_file(folder / "numbered.db", 3)
    before = bytes_in(folder)
    for name in before:
        for words in (
            ("restore", folder / name, "--data", tmp_path / name),
            ("migrate", folder / name, tmp_path / "new"),
        ):
            result = beliefd("store", *words)
            assert result.exit_code == 1
            assert "STORAGE_UNAVAILABLE" in result.output
            assert name == "notes.db" or "is no store of beliefd" in result.output
    assert bytes_in(folder) == before
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "beliefd.db").touch()
    assert "is no store of beliefd" in beliefd("store", "backup", tmp_path / "b.db", "--data", broken).output
    assert (bytes_in(broken), (tmp_path / "b.db").exists()) == ({"beliefd.db": b""}, False)


@pytest.mark.parametrize("state", ["closed", "with its log", "of an earlier version", "another journal"])
def test_a_source_keeps_every_byte(filled: Path, tmp_path: Path, state: str) -> None:
    source = tmp_path / "source"
    if state == "with its log":  # as a server that was killed leaves it
        with opened(str(filled / "beliefd.db")) as calls:
            calls.declare_session(["late"], ONTOLOGY_JSON)
            shutil.copytree(filled, source, ignore=shutil.ignore_patterns("*-shm"))
        assert (source / "beliefd.db-wal").stat().st_size
    else:
        shutil.copytree(filled, source)
    if state == "another journal":
        with closing(sqlite3.connect(source / "beliefd.db")) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    if state == "of an earlier version":
        (source / "beliefd.db").unlink()
        with closing(sqlite3.connect(source / "beliefd.db")) as connection:
            for script in MIGRATIONS[:6]:
                connection.executescript(script)
            connection.execute("PRAGMA user_version = 6")
    before = bytes_in(source)
    assert beliefd("store", "restore", source / "beliefd.db", "--data", tmp_path / "a").exit_code == 0
    migrate(source, tmp_path / "b")
    assert bytes_in(source) == before
    assert rows_of(tmp_path / "a" / "beliefd.db") == rows_of(source / "beliefd.db")
    assert rows_of(tmp_path / "b" / "beliefd.db") == rows_of(source / "beliefd.db")


def test_a_file_with_somebody_elses_tables_is_no_target(filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    foreign_file(folder / "customers.db")
    foreign_file(folder / "numbered.db", len(MIGRATIONS))
    migrate(filled, folder / "shared.db")
    foreign_file(folder / "shared.db", len(MIGRATIONS))
    before = bytes_in(folder)
    for name in ("customers.db", "numbered.db", "shared.db"):
        result = beliefd("store", "migrate", filled, folder / name)
        assert result.exit_code == 4, result.output
        assert "CONFLICT: the target is not empty, and not of this source: its table `cust" in result.output
    assert bytes_in(folder) == before


def test_a_database_with_somebody_elses_tables_is_no_target_and_no_source(
    filled: Path, postgres_url: str, tmp_path: Path
) -> None:
    def done(statement: str) -> list[str]:
        async def work() -> list[str]:
            connection = await asyncpg.connect(postgres_url)
            await connection.execute(statement)
            named = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = $1::regnamespace"
            rows = await connection.fetch(named, await connection.fetchval("SELECT current_schema()"))
            await connection.close()
            return sorted(row[0] for row in rows)

        return asyncio.run(work())

    assert done("CREATE TABLE customers (name TEXT)") == ["customers"]
    result = beliefd("store", "migrate", filled, postgres_url)
    assert result.exit_code == 4, result.output
    assert "its table `customers` is none of beliefd's" in result.output
    result = beliefd("store", "migrate", postgres_url, tmp_path / "new")
    assert (result.exit_code, "is no store of beliefd" in result.output) == (1, True)
    assert done("SELECT 1") == ["customers"]
    done("DROP TABLE customers")
    migrate(filled, postgres_url)
    assert done("SELECT 1") == sorted({*ONLY_HERE, *(shape.name for shape in shapes())})

    async def written() -> None:
        store = await open_source(postgres_url)
        try:
            await _side(store)._database._write("DELETE FROM tokens")
        finally:
            await store.close()

    with pytest.raises(StorageUnavailable, match="read-only"):
        asyncio.run(written())
