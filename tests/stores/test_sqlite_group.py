"""Group commit believes a head only while nobody else can have moved it."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from beliefd.kernel.values import Head
from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import Append, HeadMoved, StorageUnavailable, UsedKey
from beliefd.stores.sqlite import SqliteStore
from beliefd.stores.sqlite.group import MAX_ROWS

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def batch(session_id: str, first: int, count: int = 1, **rest: object) -> Append:
    entries = [Sealed(seq, f"{session_id}-{seq}", b"{}", f"h{seq}") for seq in range(first, first + count)]
    expected = Head(seq=first - 1, event_id=f"{session_id}-{first - 1}", hash=f"h{first - 1}")
    return Append(session_id, expected if first > 1 else None, entries, "2026-01-01", **rest)  # type: ignore[arg-type]


async def test_a_head_moved_by_another_connection_is_noticed(tmp_path: Path) -> None:
    here, there = await SqliteStore.open(tmp_path / "l.db"), await SqliteStore.open(tmp_path / "l.db")
    await here.append(batch("s", 1))
    await there.append(batch("s", 2))
    with pytest.raises(HeadMoved):
        await here.append(batch("s", 2))
    await here.append(batch("s", 3))
    assert [entry.seq for entry in await there.entries("s")] == [1, 2, 3]
    await here.close()
    await there.close()


async def test_appends_of_one_turn_share_a_commit_and_keep_their_own_outcomes(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "l.db")
    outcomes = await asyncio.gather(
        *(store.append(batch(f"s{n}", 1, count=n)) for n in range(1, 40)),
        store.append(batch("s5", 6, count=MAX_ROWS + 3)),
        store.append(batch("s5", 6)),
        store.append(batch("s6", 9)),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes[:40]] == [type(None)] * 40
    assert [type(outcome) for outcome in outcomes[40:]] == [HeadMoved, HeadMoved]
    assert [len(await store.entries(f"s{n}")) for n in range(1, 40)] == [
        n + (MAX_ROWS + 3 if n == 5 else 0) for n in range(1, 40)
    ]
    last = 5 + MAX_ROWS + 3
    assert await store.head("s5") == Head(seq=last, event_id=f"s5-{last}", hash=f"h{last}")
    await store.close()


async def test_a_key_used_twice_in_one_group_is_taken_the_second_time(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "l.db")
    used = [UsedKey("agent://a", "k", "r", session, 1) for session in ("s1", "s2")]
    outcomes = await asyncio.gather(
        store.append(batch("s1", 1, used_keys=used[:1])),
        store.append(batch("s2", 1, used_keys=used[1:])),
        return_exceptions=True,
    )
    assert outcomes[0] is None
    assert isinstance(outcomes[1], HeadMoved)
    assert await store.head("s2") is None
    await store.close()


async def test_heads_of_a_group_that_failed_are_forgotten(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "l.db")
    await store.append(batch("s", 1))
    torn = Sealed(2, "s-2", b"{}", None)  # type: ignore[arg-type]
    with pytest.raises(StorageUnavailable, match="nothing was written"):
        await store.append(replace(batch("s", 2), entries=[torn]))
    await store.append(batch("s", 2))
    await store.close()


async def test_what_was_accepted_before_closing_is_written(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "l.db")
    accepted = asyncio.gather(*(store.append(batch(f"s{n}", 1)) for n in range(10)))
    await asyncio.sleep(0)
    await store.close()
    await accepted
    with sqlite3.connect(tmp_path / "l.db") as file:
        assert file.execute("SELECT count(*) FROM audit_events").fetchone() == (10,)
