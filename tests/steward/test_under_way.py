"""Turns that are decided while the one before is still on its way to the disk."""

import asyncio
import gc
from collections import deque
from collections.abc import Awaitable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.replay import fold
from beliefd.steward.bootstrap import Runtime, bootstrap
from beliefd.steward.write.queued import Outcome
from beliefd.steward.write.session_queue import UNDER_WAY
from beliefd.steward.write.steward import Steward
from beliefd.stores.base import Append, HeadMoved, StorageUnavailable
from beliefd.stores.memory import MemoryStore
from tests.steward.places import ALICE, applied, declared, eliminate, ledger_of, names

pytestmark = pytest.mark.anyio


class SlowDisk(MemoryStore):
    """Once it is slow, it keeps appends until they are let go, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.slow = False
        self.kept: deque[tuple[Append, asyncio.Future[None]]] = deque()

    def append(self, batch: Append) -> Awaitable[None]:  # type: ignore[override]
        if not self.slow:
            return super().append(batch)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.kept.append((batch, done))
        return done

    async def let_go(self, failure: Exception | None = None) -> None:
        await self.end_one(failure)
        await settled()

    async def end_one(self, failure: Exception | None = None) -> None:
        """Write the oldest, or fail it; whoever waits for it is not told before the loop comes round."""
        batch, done = self.kept.popleft()
        if done.done():
            return  # nobody waits for it any more
        try:
            if failure is not None:
                raise failure
            await super().append(batch)
            done.set_result(None)
        except (HeadMoved, StorageUnavailable) as error:
            done.set_exception(error)


class OtherProcess:
    """The same disk as another process has it, which does not queue behind this one."""

    def __init__(self, disk: SlowDisk) -> None:
        self._disk = disk

    def append(self, batch: Append) -> Awaitable[None]:
        return MemoryStore.append(self._disk, batch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._disk, name)


async def elsewhere(disk: SlowDisk, session_id: str, name: str) -> None:
    await bootstrap(OtherProcess(disk)).steward.submit(session_id, eliminate(name), ALICE)


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def spoken(steward: Steward, session_id: str, *turns: str) -> "list[asyncio.Future[Outcome]]":
    """One call per turn, each decided before the next is made."""
    calls = []
    for name in turns:
        calls.append(steward.submit(session_id, eliminate(name), ALICE))
        await settled()
    return calls


async def slow_runtime() -> tuple[Runtime, SlowDisk, str]:
    disk = SlowDisk()
    runtime = bootstrap(disk)
    session_id = await declared(runtime.steward, 20)
    disk.slow = True
    return runtime, disk, session_id


async def slow() -> tuple[Steward, SlowDisk, str]:
    runtime, disk, session_id = await slow_runtime()
    return runtime.steward, disk, session_id


async def test_the_next_turn_is_decided_on_the_head_that_is_under_way() -> None:
    steward, disk, session_id = await slow()
    calls = await spoken(steward, session_id, *names(3))
    assert [batch.expected and batch.expected.seq for batch, _ in disk.kept] == [1, 2, 3]
    assert not any(call.done() for call in calls)
    for told in range(1, 4):
        await disk.let_go()
        assert [call.done() for call in calls] == [n < told for n in range(3)]
    assert [call.result().head.seq for call in calls] == [2, 3, 4]
    assert len(await ledger_of(steward, session_id)) == 4


async def test_readers_see_nothing_that_is_not_written() -> None:
    steward, disk, session_id = await slow()
    await spoken(steward, session_id, *names(2))
    assert (await steward.positions.existing(session_id)).head.seq == 1
    await disk.let_go()
    assert (await steward.positions.existing(session_id)).head.seq == 2


async def test_no_more_than_a_few_turns_are_under_way_and_the_rest_share_one() -> None:
    steward, disk, session_id = await slow()
    calls = await spoken(steward, session_id, *names(UNDER_WAY + 5))
    assert len(disk.kept) == UNDER_WAY
    await disk.let_go()
    assert [len(batch.entries) for batch, _ in disk.kept] == [1] * (UNDER_WAY - 1) + [5]
    for _ in range(UNDER_WAY):
        await disk.let_go()
    assert applied([call.result() for call in calls]) == list(names(UNDER_WAY + 5))


async def test_when_another_process_was_faster_all_that_is_under_way_is_decided_again_in_order() -> None:
    steward, disk, session_id = await slow()
    calls = await spoken(steward, session_id, *names(3))
    await elsewhere(disk, session_id, "h0001")
    disk.slow = False
    await disk.let_go()
    behind = steward.submit(session_id, eliminate("h0009"), ALICE)
    await settled()
    assert not any(call.done() for call in [*calls, behind]), "decided again before all had come back"
    await disk.let_go()
    await disk.let_go()
    outcomes = await asyncio.gather(*calls, behind)
    assert [outcome.head.seq for outcome in outcomes] == [3, 4, 5, 6]
    assert [list(outcome.event.eliminated) for outcome in outcomes] == [["h0000"], [], ["h0002"], ["h0009"]]
    assert len(await ledger_of(steward, session_id)) == 6


async def test_a_call_that_comes_just_when_a_turn_is_lost_is_decided_once_and_after_it() -> None:
    defects: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: defects.append(context))
    runtime, disk, session_id = await slow_runtime()
    steward = runtime.steward
    (first,) = await spoken(steward, session_id, "h0000")
    await elsewhere(disk, session_id, "h0009")
    disk.slow = False
    await disk.end_one()
    second = steward.submit(session_id, eliminate("h0001"), ALICE)  # lines up before the loss is known
    outcomes = await asyncio.gather(first, second)
    assert [outcome.head.seq for outcome in outcomes] == [3, 4]
    await runtime.close()
    gc.collect()
    assert defects == []


async def test_a_failing_disk_fails_the_turn_it_failed_and_those_behind_it_are_decided_again() -> None:
    steward, disk, session_id = await slow()
    lost, kept, last = await spoken(steward, session_id, "h0000", "h0000", "h0001")
    disk.slow = False
    await disk.let_go(StorageUnavailable("nothing was written: no room"))
    with pytest.raises(BeliefdError) as raised:
        lost.result()
    assert raised.value.code is Code.STORAGE_UNAVAILABLE
    await disk.let_go()
    await disk.let_go()
    # What the lost turn had eliminated never was: the one behind it eliminates it now.
    assert applied(await asyncio.gather(kept, last)) == ["h0000", "h0001"]
    assert len(await ledger_of(steward, session_id)) == 3


async def test_a_disk_that_fails_for_all_answers_all_and_the_session_goes_on() -> None:
    steward, disk, session_id = await slow()
    calls = await spoken(steward, session_id, *names(3))
    disk.slow = False
    for _ in calls:
        await disk.let_go(StorageUnavailable("nothing was written: no room"))
    failed = await asyncio.gather(*calls, return_exceptions=True)
    assert [getattr(error, "code", None) for error in failed] == [Code.STORAGE_UNAVAILABLE] * 3
    assert (await steward.submit(session_id, eliminate("h0000"), ALICE)).head.seq == 2


async def test_what_must_ask_the_store_waits_until_nothing_is_under_way() -> None:
    steward, disk, session_id = await slow()
    (first,) = await spoken(steward, session_id, "h0000")
    keyed = steward.submit(session_id, eliminate("h0001"), ALICE, key="k")
    again = steward.submit(session_id, eliminate("h0001"), ALICE, key="k")
    behind = steward.submit(session_id, eliminate("h0002"), ALICE)
    await settled()
    assert len(disk.kept) == 1
    disk.slow = False
    await disk.let_go()
    outcomes = await asyncio.gather(first, keyed, again, behind)
    assert [outcome.head.seq for outcome in outcomes] == [2, 3, 3, 4]
    assert outcomes[2].repeated


async def test_a_steward_that_closes_waits_for_all_that_is_under_way() -> None:
    runtime, disk, session_id = await slow_runtime()
    steward = runtime.steward
    calls = await spoken(steward, session_id, *names(3))
    closing = asyncio.ensure_future(runtime.close())
    await settled()
    assert not closing.done()
    for _ in calls:
        await disk.let_go()
    async with asyncio.timeout(10):
        await closing
    assert [call.result().head.seq for call in calls] == [2, 3, 4]


async def test_a_steward_that_may_wait_no_longer_lets_go() -> None:
    runtime, _, session_id = await slow_runtime()
    steward = runtime.steward
    calls = await spoken(steward, session_id, *names(2))
    async with asyncio.timeout(10):
        await runtime.close(patience=0.01)
        failed = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(error) for error in failed] == [asyncio.CancelledError] * 2


async def test_a_store_that_does_not_keep_the_order_is_given_one_turn_at_a_time() -> None:
    disk = SlowDisk()
    disk.keeps_order = False
    steward = bootstrap(disk).steward
    session_id = await declared(steward, 20)
    disk.slow = True
    calls = await spoken(steward, session_id, *names(3))
    assert len(disk.kept) == 1
    await disk.let_go()
    assert [len(batch.entries) for batch, _ in disk.kept] == [2]
    await disk.let_go()
    assert [call.result().head.seq for call in calls] == [2, 3, 4]


# -- whatever happens in whatever order ------------------------------------------------------------------

ACTIONS = st.lists(
    st.sampled_from(
        ["say", "say", "say", "say with a key", "elsewhere", "let go", "let go", "fail", "breathe"]
    ),
    max_size=40,
)


@given(actions=ACTIONS)
@example(actions=["say", "elsewhere", "let go", "say"])
@settings(max_examples=100)
def test_every_call_is_answered_once_in_order_and_only_by_what_is_written(actions: list[str]) -> None:
    asyncio.run(_play(actions))


async def _play(actions: list[str]) -> None:
    defects: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: defects.append(context))
    runtime, disk, session_id = await slow_runtime()
    steward = runtime.steward
    calls: list[asyncio.Future[Outcome]] = []
    for number, action in enumerate(actions):
        if action.startswith("say"):
            key = f"k{number % 3}" if action.endswith("key") else None
            command = eliminate(names(20)[number % 3 if key else number % 20])
            calls.append(steward.submit(session_id, command, ALICE, key=key))
        elif action == "elsewhere":
            await elsewhere(disk, session_id, "h0019")
        elif action == "breathe":
            await asyncio.sleep(0)
        elif disk.kept:
            await disk.end_one(StorageUnavailable("no room") if action == "fail" else None)
    async with asyncio.timeout(30):
        while not all(call.done() for call in calls):
            await (disk.let_go() if disk.kept else settled())
        answers = await asyncio.gather(*calls, return_exceptions=True)
        await runtime.close()
    told = [answer for answer in answers if isinstance(answer, Outcome)]
    assert all(isinstance(answer, Outcome | BeliefdError) for answer in answers)
    written = [outcome.head.seq for outcome in told if not outcome.repeated]
    assert written == sorted(set(written)), "answered out of order, or two answers by one event"
    entries = await disk.entries(session_id)
    assert all(entries[outcome.head.seq - 1].event_id == outcome.head.event_id for outcome in told)
    assert fold(entries) is not None
    gc.collect()
    assert defects == []
