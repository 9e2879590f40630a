"""What only the SQLite store promises: a private, durable, append-only file."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import Role
from beliefd.stores.base import Append, SavedState, StorageUnavailable
from beliefd.stores.content import Quota, QuotaExceeded
from beliefd.stores.sqlite import SqliteStore, database
from beliefd.stores.sqlite.database import connect
from beliefd.stores.sqlite.schema import MIGRATIONS
from beliefd.testing.appends import batch, chain

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def ledger(tmp_path: Path) -> Path:
    """A file with one session of three events."""
    path = tmp_path / "ledger.db"
    store = await SqliteStore.open(path)
    await store.append(batch("s", None, chain("s", 3)))
    await store.close()
    return path


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_events SET record = '{}' WHERE seq = 2",
        "UPDATE audit_events SET seq = seq + 1",
        "DELETE FROM audit_events WHERE seq = 3",
        "DELETE FROM audit_events",
        "INSERT OR REPLACE INTO audit_events VALUES ('s', 2, 'forged', '{}', 'h')",
        "INSERT OR REPLACE INTO audit_events (rowid, session_id, seq, event_id, record, hash)"
        " SELECT min(rowid), 's', 9, 'forged', '{}', 'h' FROM audit_events",
        "DELETE FROM sessions WHERE session_id = 's'",
    ],
)
async def test_the_file_itself_refuses_to_change_or_lose_events(ledger: Path, statement: str) -> None:
    connection = sqlite3.connect(ledger)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    connection.close()
    store = await SqliteStore.open(ledger)
    assert await store.entries("s") == chain("s", 3)
    assert len(await store.sessions(None, 10)) == 1
    await store.close()


async def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = await SqliteStore.open(tmp_path / "folder" / "ledger.db")
        await store.append(batch("s", None, chain("s", 1)))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "folder").iterdir()}
        await store.close()
    finally:
        os.umask(before)
    assert modes == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700


async def test_every_connection_logs_ahead_and_syncs_on_commit(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "ledger.db")
    for connection in (store._writer_connection, store._reader):
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    await store.close()


async def test_the_schema_version_is_recorded(ledger: Path) -> None:
    connection = sqlite3.connect(ledger)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    connection.close()


async def test_the_saved_state_of_an_older_file_is_kept(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "old.db") as connection:
        for script in MIGRATIONS[:2]:
            connection.executescript(script)
        connection.execute("INSERT INTO snapshots (session_id, seq, state) VALUES ('s', 256, x'00ff')")
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    store = await SqliteStore.open(tmp_path / "old.db")
    assert await store.saved_state("s") == SavedState(256, b"\x00\xff")
    assert await store.saved_state("s", 255) is None
    await store.close()


async def test_what_a_webhook_was_told_of_an_older_file_is_not_told_again(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "old.db") as connection:
        for script in MIGRATIONS[:6]:
            connection.executescript(script)
        for name, told in (("one", 1), ("two", 0)):
            connection.execute("INSERT INTO inbox VALUES (?, 's', 'pending', '2026', NULL, ?)", (name, told))
        connection.execute("PRAGMA user_version = 6")
    connection.close()
    store = await SqliteStore.open(tmp_path / "old.db")
    assert [row.approval_id for row in await store.inbox_untold(10)] == ["two"]
    await store.close()


async def test_a_file_from_the_future_is_refused(ledger: Path) -> None:
    connection = sqlite3.connect(ledger)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(StorageUnavailable, match="use a newer beliefd"):
        await SqliteStore.open(ledger)


async def test_what_is_not_a_ledger_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database " * 100)
    for path in (tmp_path / "notes.txt", tmp_path, tmp_path / "notes.txt" / "ledger.db"):
        with pytest.raises(StorageUnavailable, match="cannot open `"):
            await SqliteStore.open(path)


def test_processes_that_open_a_new_file_at_once_all_succeed(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from beliefd.stores.sqlite import SqliteStore\n"
        "async def main():\n"
        "    sys.stdin.readline()\n"
        "    store = await SqliteStore.open(sys.argv[1])\n"
        "    print(await store.sessions(None, 1))\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "ledger.db")]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate(timeout=60)[0] for process in processes] == ["[]\n"] * 4


async def test_an_append_that_cannot_be_written_does_not_stop_the_next_one(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "ledger.db")
    broken = Append("s", None, [], "2026-01-01")
    async with asyncio.timeout(30):
        with pytest.raises(StorageUnavailable, match="nothing was written"):
            await store.append(broken)
        await store.append(batch("s", None, chain("s", 1)))
    await store.close()


async def test_writes_beside_the_ledger_share_one_connection_and_leave_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def counted(path: Path, only: str | None) -> sqlite3.Connection:
        opened.append(path)
        return connect(path, only)

    store = await SqliteStore.open(tmp_path / "ledger.db")
    monkeypatch.setattr(database, "connect", counted)
    bringer = Bringer(id="agent://a", role=Role.AGENT, at="2026-01-01T00:00:00Z")
    for name in ("a" * 64, "b" * 64, "c" * 64):
        await store.put_content(name, b"x", bringer)
    assert len(opened) == 1
    await store.append(batch("s", None, chain("s", 1)))
    assert not await store.replace_projection("s", await store.head("s"), "inbox", [])
    other = sqlite3.connect(tmp_path / "ledger.db", timeout=0)
    other.execute("BEGIN IMMEDIATE")  # nothing was written, and nobody holds the file
    other.close()
    with pytest.raises(QuotaExceeded):
        await store.put_content("d" * 64, b"x", bringer, Quota(items=3, bytes=100))
    await store.put_content("e" * 64, b"x", bringer)
    assert await store.kept_content(["c" * 64, "d" * 64, "e" * 64]) == {"c" * 64, "e" * 64}
    await store.close()
