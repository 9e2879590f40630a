"""Large bodies take turns: few pieces of them are taken in while everybody else waits."""

import asyncio
from collections import deque
from typing import Final
from weakref import WeakKeyDictionary

AT_ONCE: Final = 2
"""Pieces per round of the event loop; uvloop reads up to 256 KiB into each."""

_waiting: "WeakKeyDictionary[asyncio.AbstractEventLoop, deque[asyncio.Future[None]]]" = WeakKeyDictionary()


async def turn() -> None:
    """Wait until it is this body's turn to take its next piece in.

    What is not taken in stays with its sender. Without turns, a round of the event loop reads from all that
    send, and a small request that comes meanwhile waits for as many pieces as there are large bodies.
    """
    loop = asyncio.get_running_loop()
    queue = _waiting.get(loop)
    if queue is None:
        queue = _waiting[loop] = deque()
    if not queue:
        loop.call_soon(_go_on, loop, queue)
    mine = loop.create_future()
    queue.append(mine)
    await mine


def _go_on(loop: asyncio.AbstractEventLoop, queue: "deque[asyncio.Future[None]]") -> None:
    for _ in range(min(AT_ONCE, len(queue))):
        if not (first := queue.popleft()).done():  # who has left needs no turn
            first.set_result(None)
    if queue:
        loop.call_soon(_go_on, loop, queue)
