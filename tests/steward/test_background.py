"""Work that outlives who asked for it, in one task and not in two."""

import asyncio

from beliefd.steward.effects.background import Background


def test_work_ends_though_who_waits_for_it_goes_away() -> None:
    async def story() -> bool:
        background, go_on, ended = Background(), asyncio.Event(), asyncio.Event()

        async def work() -> None:
            await go_on.wait()
            ended.set()

        waiting = asyncio.create_task(background.see_through(work()))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        go_on.set()
        await background.finish()
        return ended.is_set()

    assert asyncio.run(story())


def test_what_is_in_the_background_already_needs_no_second_task() -> None:
    async def itself() -> "asyncio.Task[object] | None":
        return asyncio.current_task()

    async def story() -> bool:
        background = Background()
        started = background.start(background.see_through(itself()))
        return await started is started

    assert asyncio.run(story())
