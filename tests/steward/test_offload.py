"""Work beside the event loop: no kind waits for another, and nobody for all that somebody else asked."""

import asyncio
import contextvars
import threading
from collections.abc import Callable

import pytest

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.protocol.rights import EVERYTHING
from beliefd.steward import offload as module
from beliefd.steward.call import Call
from beliefd.steward.directory import LOCAL_AGENT
from beliefd.steward.handlers.shared import read
from beliefd.steward.offload import asking, in_pool, offload
from beliefd.steward.pools import Limits, Pool
from beliefd.uncertainty.model_disagreement import model_disagreement
from beliefd.uncertainty.semantic_entropy import nearest_neighbour_entropy, semantic_entropy
from beliefd.wanted import Abandoned, check_wanted, given_up_when

pytestmark = pytest.mark.anyio
SOON = 30


class Held:
    """Work that goes on until it is let go, and says that it began."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.let_go = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.let_go.wait(SOON)
        return "done"


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON):
        while not true():  # noqa: ASYNC110 - threads set no event of asyncio
            await asyncio.sleep(0.001)


def begin(kind: module.Kind, work: Callable[[], object], asker: str = "") -> "asyncio.Task[object]":
    async def run() -> object:
        with asking(asker):
            return await in_pool(kind, work)

    return asyncio.get_running_loop().create_task(run())


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> dict[module.Kind, Pool]:
    """Small ones, so that they are soon full."""
    made: dict[module.Kind, Pool] = {
        "measure": Pool("measure", Limits(threads=2, waiting=8)),
        "parse": Pool("parse", Limits(threads=1, waiting=8)),
    }
    monkeypatch.setattr(module, "POOLS", made)
    return made


async def test_light_work_is_done_here_and_heavy_work_elsewhere() -> None:
    assert await offload(False, threading.current_thread) is threading.main_thread()
    assert (await offload(True, threading.current_thread, kind="parse")).name == "beliefd-parse"


async def test_work_sees_the_context_of_who_asked_and_its_errors_come_back() -> None:
    colour: contextvars.ContextVar[str] = contextvars.ContextVar("colour")
    colour.set("green")
    assert await in_pool("fold", colour.get) == "green"
    with pytest.raises(ZeroDivisionError):
        await in_pool("fold", lambda: 1 // 0)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_pool("fold", lambda: next(iter(())))
    with pytest.raises(RuntimeError, match="SystemExit"):
        await in_pool("fold", lambda: exec("raise SystemExit"))
    assert await in_pool("fold", lambda: "still there") == "still there"


async def test_a_kind_whose_threads_are_all_taken_holds_up_no_other(pools: dict[module.Kind, Pool]) -> None:
    held = [Held() for _ in range(6)]
    running = [begin("measure", one) for one in held]
    await until(lambda: pools["measure"].running == 2)
    assert await in_pool("parse", lambda: "parsed") == "parsed"
    for one in held:
        one.let_go.set()
    assert await asyncio.gather(*running) == ["done"] * 6


async def test_a_full_queue_turns_away_with_a_time_to_come_back(pools: dict[module.Kind, Pool]) -> None:
    held = Held()
    running = [begin("measure", held) for _ in range(2)]
    await until(lambda: pools["measure"].running == 2)
    running += [begin("measure", held) for _ in range(8)]
    await until(lambda: pools["measure"].waiting == 8)
    with pytest.raises(BeliefdError) as turned_away:
        await in_pool("measure", held)
    assert turned_away.value.code is Code.TOO_BUSY
    assert turned_away.value.details == {"retry_after": 1}
    held.let_go.set()
    await asyncio.gather(*running)
    assert await in_pool("measure", lambda: "room again") == "room again"


async def test_one_who_asks_for_much_leaves_a_thread_and_places_to_others(
    pools: dict[module.Kind, Pool],
) -> None:
    greedy = Held()
    running = [begin("measure", greedy, "agent://greedy")]
    await until(greedy.begun.is_set)  # or the first would still wait, and take the place of the third
    running += [begin("measure", greedy, "agent://greedy") for _ in range(2)]
    await until(lambda: pools["measure"].waiting == 2)
    assert pools["measure"].running == 1
    with pytest.raises(BeliefdError, match="2 of yours wait already"):
        await begin("measure", greedy, "agent://greedy")
    assert await begin("measure", lambda: "mine", "agent://modest") == "mine"
    greedy.let_go.set()
    await asyncio.gather(*running)


async def test_turns_go_round_between_those_who_ask(pools: dict[module.Kind, Pool]) -> None:
    held, order = Held(), list[str]()
    first = begin("parse", held)
    await until(held.begun.is_set)
    names = ["a1", "a2", "b1"]
    running = [begin("parse", lambda name=name: order.append(name), name[0]) for name in names]  # type: ignore[misc]
    await until(lambda: pools["parse"].waiting == 3)
    held.let_go.set()
    await asyncio.gather(first, *running)
    assert order == ["a1", "b1", "a2"]


async def test_work_whose_caller_left_is_dropped_from_the_queue_and_ends_where_it_asks(
    pools: dict[module.Kind, Pool],
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def long() -> None:
        begun.set()
        try:
            while True:
                check_wanted()
        except Abandoned:
            ended.set()
            raise

    running = begin("parse", long)
    await until(begun.is_set)
    never = begin("parse", lambda: pytest.fail("nobody waits for this"))
    await until(lambda: pools["parse"].waiting == 1)
    never.cancel()
    await until(lambda: pools["parse"].waiting == 0)
    running.cancel()
    await until(ended.is_set)
    assert await in_pool("parse", lambda: "free again") == "free again"


async def test_work_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool("parse", Limits(threads=1, waiting=8, seconds=0.05))
    monkeypatch.setattr(module, "POOLS", {"parse": pool})

    def long() -> None:
        while True:
            check_wanted()

    with pytest.raises(BeliefdError) as given_up:
        await in_pool("parse", long)
    assert given_up.value.code is Code.TIMED_OUT
    await until(lambda: pool.running == 0)


async def test_a_time_out_of_the_work_itself_is_told_as_it_is() -> None:
    def late() -> None:
        raise TimeoutError("the model did not answer")

    with pytest.raises(TimeoutError, match="the model did not answer"):
        await in_pool("measure", late)


@pytest.mark.parametrize("measure", [semantic_entropy, nearest_neighbour_entropy, model_disagreement])
def test_measuring_asks_whether_anybody_still_waits(measure: Callable[[list[str]], object]) -> None:
    answers = ["the disk is full", "the network is down", "nobody knows"]
    measure(answers)
    with pytest.raises(Abandoned), given_up_when(lambda: True):
        measure(answers)


@pytest.mark.parametrize(("size", "name"), [(0, "MainThread"), (module.HEAVY_BYTES + 1, "beliefd-parse")])
async def test_large_bodies_are_read_beside_the_event_loop(size: int, name: str) -> None:
    call = Call(principal=LOCAL_AGENT, rights=EVERYTHING, body={}, size=size)
    assert await read(call, lambda *_: threading.current_thread().name) == name
