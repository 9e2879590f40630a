"""Commits on the event loop itself: little, alone, quick, and in order with those of the writer."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

import beliefd
from beliefd.stores.sqlite import here
from beliefd.stores.sqlite.store import SqliteStore
from beliefd.testing.world import ONTOLOGY

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often the writer was woken."""
    found: list[int] = []
    ring = SqliteStore._ring

    def counted(store: SqliteStore) -> None:
        found.append(1)
        ring(store)

    monkeypatch.setattr(SqliteStore, "_ring", counted)
    monkeypatch.setattr(here, "QUICK_SECONDS", 3_600.0)
    return found


async def written(path: Path, times: int) -> None:
    async with await beliefd.open_async(path) as ledger:
        for _ in range(times):
            await ledger.declare_session(["a", "b"], ONTOLOGY)


async def test_what_is_alone_is_written_without_the_writer(tmp_path: Path, rung: list[int]) -> None:
    await written(tmp_path / "b.db", 5)
    assert rung == []


async def test_the_writer_has_its_turn_so_that_the_log_does_not_grow_for_ever(
    tmp_path: Path, rung: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(here, "IN_A_ROW", 3)
    await written(tmp_path / "b.db", 12)
    assert len(rung) >= 3


async def test_after_a_slow_commit_the_writer_is_asked(
    tmp_path: Path, rung: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(here, "QUICK_SECONDS", 0.0)
    monkeypatch.setattr(here, "PATIENCE", 1_000_000)
    await written(tmp_path / "b.db", 5)
    assert len(rung) >= 4


async def test_while_another_process_writes_the_loop_goes_on(tmp_path: Path, rung: list[int]) -> None:
    path = tmp_path / "b.db"
    async with await beliefd.open_async(path) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(ledger.declare_session(["a", "b"], ONTOLOGY))
        async with asyncio.timeout(20):
            while not rung:  # noqa: ASYNC110 - nothing tells when the writer is woken
                await asyncio.sleep(0.01)
        assert not waiting.done()
        other.execute("ROLLBACK")
        other.close()
        assert (await waiting).session_id
