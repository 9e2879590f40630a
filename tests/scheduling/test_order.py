"""Places are given by class, then fairly between principals, and whoever waits gets one in the end."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from beliefd.tools import slots

INTERACTIVE, BACKGROUND, MAINTENANCE = range(3)
Asked = list[tuple[str, int]]


def order(asked: Asked, places: int = 2) -> Asked:
    """In which order those get a place who wait for one while all are taken; each gives it back at once."""

    async def story() -> Asked:
        room, got = slots.Slots(places), Asked()
        holders = [await room.kept(f"holder {number}", INTERACTIVE) for number in range(places)]

        async def waits(who: str, rank: int) -> None:
            place = await room.kept(who, rank)
            got.append((who, rank))
            room.leave(place)

        tasks = [asyncio.ensure_future(waits(who, rank)) for who, rank in asked]
        await asyncio.sleep(0)  # all of them wait
        for holder in holders[1:]:
            room.take_over("hangs")  # only one place ever comes back
            room.leave(holder)
        room.leave(holders[0])
        await asyncio.wait_for(asyncio.gather(*tasks), 60)
        return got

    return run(story())


def run(work: Coroutine[Any, Any, Asked]) -> Asked:
    return asyncio.run(work)


def test_a_higher_class_comes_first_whoever_came_first() -> None:
    asked = [("a", MAINTENANCE), ("b", BACKGROUND), ("c", INTERACTIVE), ("d", BACKGROUND)]
    assert order(asked) == [("c", INTERACTIVE), ("b", BACKGROUND), ("d", BACKGROUND), ("a", MAINTENANCE)]


def test_whoever_was_passed_over_often_enough_is_next() -> None:
    asked = [("a", MAINTENANCE), *((f"c{number}", INTERACTIVE) for number in range(40))]
    at = order(asked).index(("a", MAINTENANCE))
    assert at == 2 * slots.AGED


def test_it_does_not_overtake_those_of_its_new_class_that_came_before() -> None:
    early = [("early", INTERACTIVE), ("a", BACKGROUND)]
    got = order([*early, *((f"c{number}", INTERACTIVE) for number in range(20))])
    assert got[0] == early[0]
    assert got.index(early[1]) == slots.AGED + 1


def test_within_a_class_who_holds_the_fewest_comes_first() -> None:
    async def story() -> Asked:
        room, got = slots.Slots(8), Asked()
        for who, times in (("greedy", 3), ("hangs", 4)):
            for _ in range(times):
                room.take_over(who)
        last = await room.kept("other", INTERACTIVE)

        async def waits(who: str) -> None:
            await room.kept(who, INTERACTIVE)
            got.append((who, INTERACTIVE))

        tasks = [asyncio.ensure_future(waits(who)) for who in ("greedy", "modest")]
        await asyncio.sleep(0)
        room.leave(last)
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return got

    assert run(story()) == [("modest", INTERACTIVE)]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 2)), max_size=40), st.integers(2, 5))
def test_everybody_gets_a_place_in_the_end(asked: Asked, places: int) -> None:
    assert sorted(order(asked, places)) == sorted(asked)


@given(st.data())
def test_no_place_is_lost_or_made_whoever_gives_up(data: st.DataObject) -> None:
    async def story() -> Asked:
        room, places = slots.Slots(3), 3
        waiting: list[asyncio.Task[slots.Place]] = []
        for _ in range(data.draw(st.integers(0, 30))):
            step = data.draw(st.sampled_from(["ask", "give up", "let run", "leave"]))
            if step == "ask":
                who = data.draw(st.sampled_from("abc"))
                waiting.append(asyncio.ensure_future(room.kept(who, INTERACTIVE)))
            elif waiting:
                task = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
                if step == "let run":
                    await asyncio.sleep(0)
                if task.done():
                    room.leave(task.result())
                    room.leave(task.result())  # twice is once
                else:
                    task.cancel()
                await asyncio.sleep(0)
            assert room._held.total() <= places
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for task in waiting:
            if not task.cancelled():
                room.leave(task.result())
        assert room._held.total() == 0
        return []

    run(story())


def test_a_loop_that_is_gone_does_not_keep_a_place() -> None:
    room = slots.Slots(2)
    for who in ("x", "y"):
        room.take_over(who)
    loop = asyncio.new_event_loop()
    task = loop.create_task(room.kept("gone", INTERACTIVE))
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    room.give_back("x")
    room.give_back("y")
    assert room._held.total() == 0
    del task
