"""What is held while a ledger is read does not grow with it, and no answer is longer than some megabytes."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from beliefd.embedded import AsyncEmbedded
from beliefd.kernel.values import Principal, Role
from beliefd.protocol.operations import BY_NAME
from beliefd.protocol.rights import EVERYTHING
from beliefd.protocol.wire import is_longer
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.call import Call
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.steward.dispatch import stream
from beliefd.steward.handlers import shared
from beliefd.steward.handlers.approvals import CARD_BYTES
from beliefd.steward.handlers.shared import PAGE_BYTES, filling
from beliefd.stores.memory import MemoryStore
from beliefd.stores.opening import open_store
from beliefd.testing.world import ONTOLOGY
from tests.claims.support import claim

pytestmark = pytest.mark.anyio
SHORT, LONG = 4_000, 20_000
AGENT = Principal(id="agent://a", role=Role.AGENT)


@pytest.fixture
async def ledgers(tmp_path: Path) -> AsyncIterator[AsyncEmbedded]:
    calls = AsyncEmbedded(bootstrap(await open_store(tmp_path / "ledger.db")), LOCAL_OPERATOR)
    yield calls
    await calls.close()


async def history(calls: AsyncEmbedded, length: int, justification: dict[str, Any] | None = None) -> str:
    session_id = (await calls.declare_session([f"h{n}" for n in range(50)], ONTOLOGY)).session_id
    for start in range(1, length, 1_000):
        await asyncio.gather(
            *(
                calls.eliminate(
                    session_id,
                    source_id="s",
                    observation_id=f"o{n}",
                    eliminated=[f"h{n % 40}"],
                    justification=justification or {"n": n},
                )
                for n in range(start, min(start + 1_000, length))
            )
        )
    return session_id


async def exported(calls: AsyncEmbedded, session_id: str) -> int:
    call = Call(principal=AGENT, rights=EVERYTHING, path={"session_id": session_id})
    chunks = stream(calls.runtime.handlers, BY_NAME["export"], call)
    return sum([chunk.count(b"\n") async for chunk in chunks])


WORK: dict[str, Callable[[AsyncEmbedded, str], Awaitable[object]]] = {
    "counterfactual": lambda calls, name: calls.counterfactual(name, without_source_ids=["s"]),
    "verify": lambda calls, name: calls.verify(name),
    "export": exported,
    "why": lambda calls, name: calls.why(name, "h49"),
    "at": lambda calls, name: calls.query_belief(name, at=3_999),
}


async def peak(work: Awaitable[object]) -> int:
    """What is held at most while it goes on, beyond what was held before."""
    tracemalloc.start()
    try:
        await work
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
async def test_what_is_held_does_not_grow_with_the_ledger(ledgers: AsyncEmbedded) -> None:
    short, long = await history(ledgers, SHORT), await history(ledgers, LONG)
    for name, work in WORK.items():
        await work(ledgers, short)  # what is loaded once is loaded
        before, after = await peak(work(ledgers, short)), await peak(work(ledgers, long))
        assert after < 1.5 * before, f"{name}: {before} bytes for {SHORT} events, {after} for {LONG}"
    ledgers.steward.positions._cache.clear()
    before = await peak(ledgers.query_belief(short))
    ledgers.steward.positions._cache.clear()
    assert await peak(ledgers.query_belief(long)) < 1.5 * before


async def test_an_audit_page_ends_with_the_entry_that_makes_it_too_long() -> None:
    calls = AsyncEmbedded(bootstrap(MemoryStore()), LOCAL_OPERATOR)
    session_id = await history(calls, 12, {"text": "x" * (1 << 20)})
    seen: list[int] = []
    since = None
    while True:
        page = await calls.audit_trace(session_id, since_event_id=since)
        assert len(msgspec.json.encode(page)) < PAGE_BYTES + (2 << 20)
        seen += [one["seq"] for one in page.events]
        if (since := page.next) is None:
            break
    assert seen == list(range(1, 13))


async def test_an_inbox_of_large_bundles_is_listed_in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "PAGE_BYTES", 300_000)
    calls = AsyncEmbedded(bootstrap(MemoryStore()), LOCAL_OPERATOR)
    session_id = (await calls.declare_session(["a", "b"], ONTOLOGY)).session_id
    waiting = []
    for n, claims in enumerate((1, 40, 40, 40, 1)):
        said = [claim("DELETE", id=f"c{m}", statement=f"drop it: {'word ' * 1_000}") for m in range(claims)]
        judged = await calls.submit_claims(session_id, {"id": f"b{n}", "claims": said})
        waiting.append(str(judged.approval_id))
    page = await calls.list_approvals()
    assert [one.approval_id for one in page.approvals] == waiting
    assert [one.shortened for one in page.approvals] == [False, True, True, True, False]
    assert len(msgspec.json.encode(page)) < CARD_BYTES
    short, whole = page.approvals[1], await calls.show_approval(waiting[1])
    assert short.title == whole.title[:200]
    assert (len(short.claims), len(whole.claims)) == (0, 40)
    assert (short.content_hash, short.proposer) == (whole.content_hash, whole.proposer)
    assert not whole.shortened
    bundles: list[str] = []
    cursor, pages = None, 0
    while True:
        listed = await calls.list_claims(session_id, cursor=cursor)
        bundles += [one.id for one in listed.claims]
        pages += 1
        if (cursor := listed.next) is None:
            break
    assert bundles == [f"b{n}" for n in range(5)]
    assert pages == 2
    # What is settled is listed from its ledger, a few long ones at a time.
    for name in waiting:
        await calls.withdraw_approval(name)
    first = await calls.list_approvals(status="withdrawn")
    assert [one.shortened for one in first.approvals] == [False, True]
    second = await calls.list_approvals(status="withdrawn", cursor=first.next)
    assert [one.approval_id for one in second.approvals] == [waiting[2]]


async def test_a_page_goes_on_where_it_ended() -> None:
    views = ["x" * (PAGE_BYTES // 3)] * 5
    names = list("abcde")
    assert filling(views, names, None) == (views[:3], "c")
    assert filling(views[3:], names[3:], "more") == (views[3:], "more")
    assert filling(views[:3], names[:3], None) == (views[:3], None)
    assert filling(views[:3], names[:3], "c") == (views[:3], "c")
    assert filling([], [], None) == ([], None)


def test_long_values_are_told_from_short_ones_without_looking_at_all_of_them() -> None:
    assert not is_longer({"a": ["b" * 50], "c": 1}, 100)
    assert is_longer({"a": ["b" * 200]}, 100)
    assert is_longer([0] * 100, 100)
    assert is_longer(range_of_lists(10**6), 1_000)


def range_of_lists(count: int) -> list[list[int]]:
    one: list[int] = []
    return [one] * count
