"""What archiving, bringing back, verifying and backing up hold does not grow with the ledger."""

import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.archive import EVERY, ledger

import beliefd
from beliefd.cli.archiving import archive, unarchive, verified
from beliefd.ledger.envelope import head_of
from beliefd.ledger.marks import Marks
from beliefd.ledger.replay import Walk
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.steward.log import Log
from beliefd.stores.base import Append
from beliefd.stores.sqlite import SqliteStore, bulk
from beliefd.stores.sqlite.copying import copy_file
from beliefd.testing.appends import CREATED
from beliefd.testing.world import ONTOLOGY

FEW, LOTS = 3_000, 12_000
"""Both are longer than any chunk in which events are read or written."""
BATCH = 2_000
SPARE = 200_000
"""Marks on the chain, some 40 bytes for 64 events, and whatever else happens to be allocated."""


async def filled(folder: Path, size: int) -> str:
    """A ledger of so many events that verifies."""
    async with await beliefd.open_async(folder / "ledger.db", principal=LOCAL_OPERATOR) as calls:
        session = (await calls.declare_session(["a", "b"], ONTOLOGY)).session_id
        for _ in range(EVERY - 1):
            await calls.eliminate(
                session, source_id="s", observation_id="o", eliminated=["a"], justification={}
            )
        entries = await calls.steward.store.entries(session)
    store = await SqliteStore.open(folder / "ledger.db")
    rest = list(ledger(entries, size))[EVERY:]
    head = head_of(entries[-1])
    for at in range(0, len(rest), BATCH):
        batch = rest[at : at + BATCH]
        await store.append(Append(session, head, batch, CREATED))
        head = head_of(batch[-1])
    await Log(store).catch_up()
    await store.close()
    return session


def most(work: Callable[[], object]) -> int:
    """The most bytes that were held at once."""
    gc.collect()
    gc.freeze()  # else each collection would walk through all that the process of the tests holds
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def peaks(folder: Path, size: int) -> dict[str, int]:
    """What each way through a ledger of so many events held at most."""
    folder.mkdir()
    session = asyncio.run(filled(folder, size))
    path = folder / "away" / f"{session}.jsonl"
    settings = LogSettings(key=folder / "log.key")

    async def follow() -> None:
        store = await SqliteStore.open(folder / "ledger.db")
        walk = Walk(Marks())
        await store.replay(session, 0, size, walk.take)
        await store.close()
        assert walk.marks.seq == size

    def verify() -> None:
        with beliefd.open(folder / "ledger.db", principal=LOCAL_OPERATOR) as calls:
            assert calls.verify(session).checked == size

    def away() -> None:
        with beliefd.open(folder / "ledger.db", principal=LOCAL_OPERATOR, log=settings) as calls:
            (done,) = archive(calls, (session,), folder / "away", None, False, "over").archived
        assert done.events == size + 1

    def back() -> None:
        with beliefd.open(folder / "ledger.db", principal=LOCAL_OPERATOR, log=settings) as calls:
            assert unarchive(calls, path) == size + 1

    return {
        "follow": most(lambda: asyncio.run(follow())),
        "verify": most(verify),
        "back up": most(lambda: copy_file(folder / "ledger.db", folder / "copy.db")),
        "archive": most(away),
        "check the file": most(lambda: verified(path)),
        "bring back": most(back),
    }


def test_four_times_the_events_take_no_more_memory(tmp_path: Path) -> None:
    peaks(tmp_path / "first", EVERY)  # what is kept for ever is there now
    few, lots = peaks(tmp_path / "few", FEW), peaks(tmp_path / "lots", LOTS)
    grown = {name: (few[name], held) for name, held in lots.items() if held > 1.3 * few[name] + SPARE}
    assert not grown


def mapped(path: Path) -> int:
    """So many bytes of a file are mapped into this process."""
    spans = [
        line.split()[0].split("-")
        for line in Path("/proc/self/maps").read_text().splitlines()
        if line.endswith(str(path))
    ]
    return sum(int(end, 16) - int(begin, 16) for begin, end in spans)


def test_of_a_long_ledger_no_more_is_mapped_than_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bulk.MAPPED_BYTES <= 64 << 20, "a mapping counts as memory of the process, page by page"
    monkeypatch.setattr(bulk, "MAPPED_BYTES", 1 << 20)
    session = asyncio.run(filled(tmp_path, FEW))
    path = tmp_path / "ledger.db"
    assert path.stat().st_size > 2 << 20

    async def followed() -> int:
        store = await SqliteStore.open(path)
        walk = Walk(Marks())
        await store.replay(session, 0, FEW, walk.take)
        try:
            return mapped(path)
        finally:
            await store.close()

    assert 0 < asyncio.run(followed()) <= 1 << 20
